use crate::{
    PrioritySignals, StepDraft,
    StepStatus::*,
    machine::{
        Capabilities, Command, Durability, Event, Machine, Record, StopReason,
        tests::bench::{Bench, output, plan, policy, step},
    },
};

#[test]
fn a_step_starts_when_the_one_before_it_is_completed() {
    let mut bench = Bench::new(
        policy(|policy| policy.max_parallel_steps(4)),
        [step("second").after("first"), step("first")],
    )
    .begin();
    assert_eq!(bench.working(), ["first"]);
    bench.done("first");
    assert_eq!(bench.working(), ["second"]);
    bench.done("second");
    assert_eq!(bench.stop, Some(StopReason::Completed));
    assert_eq!(bench.machine.outputs().get(bench.at("second")), Some(&output("second")));
    assert_eq!(bench.machine.stop(), Some(StopReason::Completed));
}

#[test]
fn a_chain_goes_on_beside_a_slow_step() {
    let steps = [step("slow"), step("b"), step("c").after("b"), step("d").after("c")];
    let mut bench = Bench::new(policy(|policy| policy.max_parallel_steps(2)), steps).begin();
    for next in ["b", "c", "d"] {
        assert_eq!(bench.working(), [next, "slow"].iter().rev().copied().collect::<Vec<_>>());
        bench.done(next);
    }
    assert_eq!(bench.stop, None);
    bench.done("slow");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn a_serial_executor_holds_up_its_own_steps_alone() {
    let steps = [step("x"), step("y"), step("z"), step("a"), step("b")];
    let plan = plan(steps);
    let serial =
        |place: u32| if place < 3 { Capabilities::new().serial("press") } else { Capabilities::new() };
    let machine =
        Machine::new(plan, policy(|policy| policy.max_parallel_steps(4)), |_, step| Some(serial(step.get())));
    let mut bench = Bench::of(machine).begin();
    assert_eq!(bench.working(), ["x", "a", "b"]);
    bench.done("a");
    assert_eq!(bench.working(), ["x", "b"]);
    bench.done("x");
    assert_eq!(bench.working(), ["y", "b"]);
    bench.done("y");
    assert_eq!(bench.working(), ["z", "b"]);
    bench.done("b").done("z");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn the_important_step_is_first_and_the_budget_ends_the_run() {
    let important = |step: StepDraft| step.with_signals(PrioritySignals::new().with_priority(1.0));
    let steps = [step("cheap"), important(step("important"))];
    let mut bench = Bench::new(policy(|policy| policy.steps_per_run(1)), steps).begin();
    bench.done("important");
    assert_eq!((bench.stop, bench.order()), (Some(StopReason::StepBudget), vec!["important".to_owned()]));

    // The next run has a budget of its own.
    let mut bench = bench.again(policy(|policy| policy.steps_per_run(1))).resume();
    bench.done("cheap");
    assert_eq!((bench.stop, bench.order()), (Some(StopReason::Completed), vec!["cheap".to_owned()]));
}

#[test]
fn the_limit_of_starts_counts_over_all_resumes() {
    let set = || policy(|policy| policy.max_step_runs(2));
    let mut bench = Bench::new(set(), [step("a"), step("b").after("a"), step("c").after("b")]).begin();
    bench.done("a");
    let mut bench = bench.again(set()).resume();
    assert_eq!(
        bench.stop,
        Some(StopReason::StepRunLimit),
        "b was started, and started again it would be the third"
    );
    assert_eq!(bench.machine.starts(), 2);
    assert!(bench.try_send(Event::Tick).is_err());
}

#[test]
fn nothing_starts_after_the_last_moment_for_starts_also_in_a_later_run() {
    let set = || policy(|policy| policy.no_start_after(1_000_100));
    let mut bench = Bench::new(set(), [step("a"), step("b").after("a")]).begin();
    bench.pass(101).done("a");
    assert_eq!((bench.stop, bench.status("b")), (Some(StopReason::NoReadyStep), Pending));
    let mut bench = bench.again(set());
    bench.now.unix_millis += 101;
    assert_eq!(bench.resume().stop, Some(StopReason::NoReadyStep));
}

#[test]
fn a_start_and_the_completion_that_it_follows_from_share_a_commit() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").after("a")]);
    bench.durable_at_once = false;
    bench.send(Event::Begin);
    assert_eq!((bench.working().len(), bench.flushes), (0, 1), "the start is not durable");
    bench.persisted();
    assert_eq!(bench.working(), ["a"]);

    bench.done("a");
    let last: Vec<_> = bench.records().into_iter().rev().take(2).collect();
    assert!(matches!(last[..], [Record::Started { .. }, Record::Completed { .. }]), "{last:?}");
    assert_eq!((bench.working().len(), bench.flushes), (0, 2));
    // That of the completion alone is not enough.
    let sequence = bench.journal.len() as u64 - 1;
    bench.send(Event::Persisted { sequence });
    assert_eq!(bench.working().len(), 0);
    bench.persisted();
    assert_eq!(bench.working(), ["b"]);
    bench.done("b");
    assert_eq!(bench.stop, None, "the end is not durable");
    bench.persisted();
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn without_strict_durability_starts_wait_for_nothing_and_the_end_still_does() {
    for durability in [Durability::Relaxed, Durability::OnExit] {
        let machine =
            Machine::new(plan([step("a")]), policy(|policy| policy), |_, _| Some(Capabilities::new()))
                .with_durability(durability);
        let mut bench = Bench::of(machine);
        bench.durable_at_once = false;
        bench.send(Event::Begin);
        assert_eq!((bench.working().len(), bench.flushes), (1, 0));
        bench.done("a");
        assert_eq!((bench.stop, bench.flushes), (None, 1));
        bench.persisted();
        assert_eq!(bench.stop, Some(StopReason::Completed));
    }
}

#[test]
fn a_step_sees_what_was_there_when_it_started() {
    let mut bench = Bench::new(
        policy(|policy| policy.max_parallel_steps(2)),
        [step("a"), step("b"), step("c").after("a")],
    )
    .begin();
    bench.done("a").done("b");
    let view = bench.machine.outputs().as_of(bench.starts[2].sequence);
    assert_eq!(view.get(bench.at("a")), Some(&output("a")));
    assert_eq!(view.get(bench.at("b")), None);
    assert_eq!(bench.machine.outputs().get(bench.at("b")), Some(&output("b")));
}

#[test]
fn input_is_filled_from_the_sources() {
    let steps = [
        step("a"),
        step("b"),
        step("c").input_from("a").input_from("b").after_end_of("b"),
        step("d").input_from("a").with_input("mine").with_data(serde_json::json!({"k": 1})),
    ];
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(9));
    let mut bench = Bench::new(set, steps).begin();
    bench.done("a").fail("b");
    let input = bench.machine.input(bench.at("c"));
    let steps = serde_json::json!({"steps": {"a": "a", "b": {"status": "failed", "output": null}}});
    assert_eq!((input.text, input.data), (steps.to_string(), Some(steps)));
    let input = bench.machine.input(bench.at("d"));
    assert_eq!(
        (input.text.as_str(), input.data),
        ("mine", Some(serde_json::json!({"k": 1, "steps": {"a": "a"}})))
    );
}

#[test]
fn an_end_that_is_told_twice_does_nothing() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").after("a")]).begin();
    let start = bench.starts[0].clone();
    bench.done("a");
    let before = bench.journal.len();
    let outcome = super::bench::failure();
    bench.send(Event::WorkEnded { start: start.start, outcome, ended: bench.now.running });
    assert_eq!((bench.journal.len(), bench.last.as_slice()), (before, [].as_slice()));
    assert_eq!(bench.status("a"), Completed);
}

#[test]
fn a_lost_claim_or_store_ends_the_run_without_another_record() {
    let events = [(Event::ClaimLost, StopReason::ClaimLost), (Event::StoreFailed, StopReason::StoreFailed)];
    for (event, reason) in events {
        let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").after("a")]).begin();
        let records = bench.journal.len();
        bench.send(event);
        assert!(
            matches!(bench.last[..], [Command::Stop { .. }, Command::WakeAt(Some(_))]),
            "{:?}",
            bench.last
        );
        bench.done("a");
        assert_eq!((bench.stop, bench.journal.len()), (Some(reason), records));
    }
}

#[test]
fn what_is_not_recorded_is_not_taken_for_durable() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]);
    bench.durable_at_once = false;
    bench.send(Event::Persisted { sequence: 99 }).send(Event::Begin).send(Event::Tick);
    assert_eq!(bench.working().len(), 0);
}

#[test]
fn a_claim_that_is_lost_at_rest_lets_nothing_begin() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]);
    bench.send(Event::ClaimLost);
    assert_eq!(bench.last, [Command::Finish(StopReason::ClaimLost)]);
    assert_eq!(bench.try_send(Event::Begin), Err(crate::machine::Refusal::Ended));
}
