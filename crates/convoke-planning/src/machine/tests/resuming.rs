use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{
    Plan, PlanPolicy, PlanPolicyBuilder, PrioritySignals, StepIndex,
    StepStatus::*,
    machine::{
        Capabilities, Command, Effects, Event, Machine, Record, Refusal, ReplayError, StepErrorCode,
        StopReason, WorkOutcome,
        tests::{
            bench::{Bench, ms, plan, policy, step},
            properties::{case, config},
            snapshots::drive,
            storms::{storm, told},
        },
    },
};

#[test]
fn interrupted_steps_run_again_as_the_same_attempt_and_completed_ones_never() {
    let set = || policy(|policy| policy.max_attempts(2));
    let mut bench = Bench::new(set(), [step("a"), step("b").after("a")]).begin();
    bench.done("a").fail("b");
    let again = bench.again(set()).resume();
    assert_eq!(again.order(), ["b"]);
    let (before, after) = (&bench.starts[2], &again.starts[0]);
    assert_eq!((before.attempt, &before.key), (after.attempt, &after.key));
    assert_ne!(before.start, after.start);

    let kept = || policy(PlanPolicyBuilder::keep_running_on_resume);
    let again = bench.again(kept()).resume();
    assert_eq!((again.status("b"), again.stop), (Running, Some(StopReason::NoReadyStep)));
}

#[test]
fn a_step_that_is_interrupted_five_times_in_a_row_has_failed() {
    let set = || policy(|policy| policy.max_attempts(9));
    let mut bench = Bench::new(set(), [step("a")]).begin();
    for _ in 1..5 {
        bench = bench.again(set()).resume();
        assert_eq!(bench.working(), ["a"]);
    }
    let fifth = bench.again(set()).resume();
    assert_eq!(
        (fifth.code("a"), fifth.stop),
        (Some(StepErrorCode::InterruptedRepeatedly), Some(StopReason::Failed))
    );

    // An attempt that came to an end begins the count anew.
    bench.fail("a");
    for _ in 1..5 {
        bench = bench.again(set()).resume();
        assert_eq!(bench.working(), ["a"]);
    }
}

#[test]
fn what_may_have_taken_effect_is_not_repeated_unasked() {
    let machine = Machine::new(plan([step("a"), step("b")]), policy(|policy| policy), |_, _| {
        Some(Capabilities::new().with_effects(Effects::SideEffect))
    });
    let bench = Bench::of(machine).begin();
    // Whatever the executor says later, the one that ran said so.
    let set = || policy(PlanPolicyBuilder::reset_detached_on_resume);
    let again = bench.again(set()).resume();
    let a = again.at("a");
    assert!(again.machine.is_outcome_unknown(a));
    assert_eq!((again.status("a"), again.working()), (Running, vec!["b".to_owned()]));
    let mut again = again.again(set()).resume();
    assert!(again.machine.is_outcome_unknown(a), "nor at the next resume");
    again.send(Event::ResetStep { step: a }).done("b").done("a");
    assert_eq!((again.stop, again.starts[1].key.as_str()), (Some(StopReason::Completed), "plan/a/1"));
}

#[test]
fn what_was_given_up_is_left_alone_unless_said_otherwise() {
    let set = || policy(|policy| policy.run_timeout(ms(10)).grace(ms(5)));
    let mut bench = Bench::new(set(), [step("a")]).begin();
    bench.wait(10).wait(5);
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::RunTimeout), Running));
    let left = bench.again(policy(|policy| policy)).resume();
    assert_eq!((left.stop, left.order().len()), (Some(StopReason::NoReadyStep), 0));
    let again = bench.again(policy(PlanPolicyBuilder::reset_detached_on_resume)).resume();
    assert_eq!((again.working(), again.starts[0].attempt), (vec!["a".to_owned()], 1));
    // Its end, told at rest, lets a reset through.
    let mut ended = bench.again(policy(|policy| policy));
    let a = ended.at("a");
    assert!(matches!(ended.try_send(Event::ResetStep { step: a }), Err(Refusal::NotReset { .. })));
    ended.send(Event::DetachedEnded { start: 1 }).send(Event::ResetStep { step: a });
    assert_eq!(ended.resume().working(), ["a"]);
}

#[test]
fn a_plan_that_stopped_on_failed_steps_says_so_or_retries_them() {
    let set = || policy(|policy| policy);
    let mut bench = Bench::new(set(), [step("a"), step("b").after("a"), step("c")]).begin();
    bench.fail("a");
    let left = bench.again(set()).resume();
    assert_eq!((left.stop, left.order().len()), (Some(StopReason::Failed), 0));
    let mut again = bench.again(set());
    again.send(Event::Resume { retry_failed: true, still_running: Vec::new() });
    assert_eq!(
        (again.working(), again.starts[0].key.as_str(), again.starts[0].attempt),
        (vec!["a".to_owned()], "plan/a/1", 1)
    );
    again.done("a").done("b").done("c");
    assert_eq!(again.stop, Some(StopReason::Completed));
}

#[test]
fn a_retry_leaves_alone_what_may_still_run() {
    let set = || policy(|policy| policy.step_timeout(ms(10)).grace(ms(5)));
    let mut bench = Bench::new(set(), [step("a")]).begin();
    bench.wait(10).wait(5);
    let retry = |policy| {
        let mut again = bench.again(policy);
        again.send(Event::Resume { retry_failed: true, still_running: Vec::new() });
        again.order().len()
    };
    assert_eq!(retry(set()), 0);
    assert_eq!(retry(policy(PlanPolicyBuilder::reset_detached_on_resume)), 1);
}

#[test]
fn a_reset_takes_along_what_was_skipped_and_no_more() {
    let steps = [
        step("a"),
        step("b").after("a"),
        step("c").after("b"),
        step("x"),
        step("d").after("b").after("x"),
        step("e").after("x"),
        step("z"),
    ];
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(9).max_attempts(2));
    let mut bench = Bench::new(set, steps).begin();
    bench.fail("a").fail("a").fail("x").fail("x");
    assert!(["b", "c", "d", "e"].iter().all(|id| bench.status(id) == Skipped));
    let a = bench.at("a");
    bench.send(Event::ResetStep { step: a });
    assert_eq!(
        ["a", "b", "c", "d", "e"].map(|id| bench.status(id)),
        [Running, Pending, Pending, Skipped, Skipped]
    );
    assert_eq!(bench.machine.attempts(a), 1);
    bench.done("a").done("b").done("c").done("z");
    assert_eq!(bench.stop, Some(StopReason::Failed));
}

#[test]
fn what_is_completed_or_under_way_is_not_reset() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b"), step("c")]).begin();
    bench.done("a");
    for (id, status) in [("a", Completed), ("b", Running), ("c", Pending)] {
        let step = bench.at(id);
        let id = bench.name(step).parse().unwrap();
        assert_eq!(bench.try_send(Event::ResetStep { step }), Err(Refusal::NotReset { step: id, status }));
    }
    let elsewhere = plan([step("x"), step("x1"), step("x2"), step("x3")]).indices().next_back().unwrap();
    assert_eq!(bench.try_send(Event::ResetStep { step: elsewhere }), Err(Refusal::UnknownStep { place: 3 }));
}

#[test]
fn a_reset_of_the_fatal_step_lets_the_run_go_on() {
    let set = policy(|policy| policy.max_parallel_steps(2));
    let mut bench = Bench::new(set, [step("a"), step("b"), step("c"), step("d").after("b")]).begin();
    bench.fail("a");
    assert_eq!(bench.working(), ["b"]);
    let a = bench.at("a");
    bench.send(Event::ResetStep { step: a });
    assert_eq!(bench.working(), ["a", "b"]);
    bench.done("a").done("b").done("c").done("d");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn a_serial_turn_passes_on_though_the_next_in_line_was_taken_back() {
    // `b` waits for the turn of `a` by virtue of the end of `f`, which is reset; `c` comes after it.
    let steps = [step("f"), step("a"), step("b").after_end_of("f"), step("c").after("g"), step("g")];
    let serial = |place: u32| {
        if [1, 2, 3].contains(&place) { Capabilities::new().serial("k") } else { Capabilities::new() }
    };
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(3));
    let mut bench = Bench::of(Machine::new(plan(steps), set, |_, step| Some(serial(step.get())))).begin();
    bench.fail("f").done("g");
    let f = bench.at("f");
    bench.send(Event::ResetStep { step: f });
    assert_eq!(bench.working(), ["f", "a"]);
    bench.done("a");
    assert_eq!(bench.working(), ["f", "c"]);
    bench.done("f").done("c").done("b");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn a_machine_begins_once() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    assert_eq!(bench.try_send(Event::Begin), Err(Refusal::Running));
    assert_eq!(
        bench.try_send(Event::Resume { retry_failed: false, still_running: Vec::new() }),
        Err(Refusal::Running)
    );
    assert_eq!(bench.again(policy(|policy| policy)).try_send(Event::Begin), Err(Refusal::BegunBefore));
    // A journal may have been cut before its first record.
    let empty = Bench::new(policy(|policy| policy), [step("a")]).resume();
    assert_eq!(empty.working(), ["a"]);
}

#[test]
fn records_of_another_plan_or_in_another_order_are_refused() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.done("a");
    let replay = |steps: [crate::StepDraft; 1], journal: Vec<crate::machine::Entry>| {
        Machine::replay(plan(steps), policy(|policy| policy), journal, |_, _| None).map(drop)
    };
    assert_eq!(replay([step("a")], bench.journal.clone()), Ok(()));
    assert!(matches!(
        replay([step("b")], bench.journal.clone()),
        Err(ReplayError::UnknownStep { sequence: 2, .. })
    ));
    let mut gap = bench.journal.clone();
    gap.remove(1);
    assert_eq!(replay([step("a")], gap), Err(ReplayError::Sequence { before: 1, found: 3 }));
    let mut twice = bench.journal.clone();
    let mut started = twice[1].clone();
    started.sequence = 5;
    twice.push(started);
    let error = replay([step("a")], twice).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record 5 cannot follow those before it: step `a` is completed and cannot become running"
    );
}

#[test]
fn what_is_told_at_rest_gives_records_alone() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.end("a", WorkOutcome::Cancelled);
    let mut at_rest = bench.again(policy(|policy| policy));
    let a = at_rest.at("a");
    at_rest.send(Event::ResetStep { step: a });
    assert_eq!((at_rest.last.as_slice(), at_rest.flushes), ([].as_slice(), 1));
    assert!(!at_rest.last.iter().any(|command| matches!(command, Command::Start(_))));
    assert_eq!(at_rest.resume().working(), ["a"]);
}

#[test]
fn a_serial_turn_that_nobody_has_taken_passes_on_when_the_next_in_line_is_taken_back() {
    // When `a` ends, the turn is for `b` and the place for `y`; then `b` is taken back, and `c` is next.
    let urgent = |step: crate::StepDraft| step.with_signals(PrioritySignals::new().with_priority(9.0));
    let steps = [
        step("f"),
        step("a"),
        step("b").after_end_of("f"),
        step("c").after("f2"),
        urgent(step("f2")),
        step("x").after("f2"),
        urgent(step("y").after("a")),
    ];
    let serial = |place: u32| {
        if (1..4).contains(&place) { Capabilities::new().serial("k") } else { Capabilities::new() }
    };
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(2));
    let mut bench = Bench::of(Machine::new(plan(steps), set, |_, step| Some(serial(step.get())))).begin();
    assert_eq!(bench.working(), ["f", "f2"]);
    bench.fail("f").done("f2");
    assert_eq!(bench.working(), ["a", "x"]);
    bench.done("a");
    assert_eq!(bench.working(), ["x", "y"]);
    let f = bench.at("f");
    bench.send(Event::ResetStep { step: f }).done("x").done("y");
    assert_eq!(bench.working(), ["f", "c"]);
}

/// A run that was cancelled while `a` did not stop, which has a turn in common with `b`.
fn cancelled(parallel: u32) -> Bench {
    let mut bench = Bench::of(Machine::new(plan(["a", "b", "c", "d"].map(step)), in_turn(parallel), press));
    bench.send(Event::Begin).send(Event::Cancel);
    if parallel > 1 {
        bench.end("c", WorkOutcome::Cancelled);
    }
    bench.wait(5);
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::Cancelled), Running));
    bench
}

fn in_turn(parallel: u32) -> PlanPolicy {
    policy(|policy| policy.grace(ms(5)).max_parallel_steps(parallel))
}

#[expect(clippy::unnecessary_wraps, reason = "the machine asks whether anybody takes the step")]
fn press(_: &Plan, step: StepIndex) -> Option<Capabilities> {
    let capabilities = Capabilities::new();
    Some(if step.get() < 2 { capabilities.serial("press") } else { capabilities })
}

/// The next run of the same process.
fn next_run(bench: &Bench, policy: PlanPolicy, still_running: Vec<u64>) -> Bench {
    let machine = Machine::replay(bench.plan.clone(), policy, bench.journal.clone(), press).unwrap();
    let mut next = Bench { journal: bench.journal.clone(), ..Bench::of(machine) };
    next.send(Event::Resume { retry_failed: true, still_running });
    next
}

#[test]
fn what_still_runs_keeps_its_turn_and_its_place_until_it_ends() {
    let mut next = next_run(&cancelled(2), in_turn(2), vec![1]);
    assert_eq!((next.working(), next.stop), (vec!["c".to_owned()], None));
    let a = next.at("a");
    assert!(matches!(next.try_send(Event::ResetStep { step: a }), Err(Refusal::NotReset { .. })));
    next.send(Event::DetachedEnded { start: 1 });
    assert_eq!(next.working(), ["b", "c"]);
    assert!(!next.machine.is_detached(a));
    // Where there is one place, nothing else starts.
    let next = next_run(&cancelled(1), in_turn(1), vec![1]);
    assert_eq!((next.stop, next.order().len()), (Some(StopReason::Detached), 0));
}

#[test]
fn what_still_runs_is_not_started_again_whatever_the_policy_says() {
    let resets = || policy(|policy| policy.max_parallel_steps(4).reset_detached_on_resume());
    let bench = cancelled(2);
    assert_eq!(next_run(&bench, resets(), vec![1]).working(), ["c", "d"]);
    // What is not named is left to the policy; a number that was never given, or is out of date, names nothing.
    for named in [vec![], vec![0, 2, 7, u64::MAX]] {
        assert_eq!(next_run(&bench, resets(), named.clone()).working(), ["a", "c", "d"]);
        assert_eq!(next_run(&bench, in_turn(4), named).working(), ["b", "c", "d"]);
    }

    // The same where its time was over before.
    let timed = policy(|policy| policy.step_timeout(ms(10)).grace(ms(5)));
    let mut bench = Bench::of(Machine::new(plan(["a", "b"].map(step)), timed, press)).begin();
    bench.wait(10).wait(5);
    assert_eq!((bench.stop, bench.code("a")), (Some(StopReason::Failed), Some(StepErrorCode::StepTimeout)));
    let next = next_run(&bench, resets(), vec![1]);
    assert_eq!((next.status("a"), next.stop), (Failed, Some(StopReason::Failed)));
    assert_eq!(next_run(&bench, resets(), vec![]).working(), ["a"]);
}

#[test]
fn what_still_runs_is_known_though_its_end_was_not_recorded() {
    let side_effect = |_: &Plan, _| Some(Capabilities::new().with_effects(Effects::SideEffect));
    for event in [Event::StoreFailed, Event::ClaimLost] {
        let machine = Machine::new(plan([step("a")]), in_turn(2), side_effect);
        let mut bench = Bench::of(machine).begin();
        bench.send(event).wait(5);
        assert!(!bench.records().iter().any(|record| matches!(record, Record::Detached { .. })));
        let next = next_run(&bench, in_turn(2), vec![1]);
        let a = next.at("a");
        assert!(next.machine.is_detached(a) && !next.machine.is_outcome_unknown(a));
        assert_eq!((next.stop, next.order().len()), (Some(StopReason::NoReadyStep), 0));
        // Its end, told at rest, is one of a step that nobody knows the outcome of.
        let mut next = next.again(in_turn(2));
        next.send(Event::DetachedEnded { start: 1 });
        assert!(next.resume().machine.is_outcome_unknown(a));
    }
}

proptest! {
    #![proptest_config(config(256))]

    /// However a run ended, recorded or not, what still runs of it is not started a second time.
    #[test]
    fn what_still_runs_never_runs_twice(case in case(), told in told(), is_recorded in any::<bool>()) {
        let mut bench = storm(&case, told, &mut |_| {});
        let mut still: BTreeMap<_, _> = bench.at_work.iter().map(|(step, work)| (*step, work.start)).collect();
        let machine = &bench.machine;
        let given_up = machine.plan().indices().filter(|step| machine.is_detached(*step));
        still.extend(given_up.map(|step| (step, machine.ledger.row(step).start)));
        if bench.stop.is_none() {
            bench.send(if is_recorded { Event::Cancel } else { Event::StoreFailed });
            bench.pass(60).try_send(Event::Tick).ok();
        }
        let set = policy(|policy| {
            policy.max_parallel_steps(3).max_attempts(3).continue_after_failure().reset_detached_on_resume()
        });
        let mut next = bench.again(set);
        next.send(Event::Resume { retry_failed: true, still_running: still.values().copied().collect() });
        drive(&mut next);
        for start in &next.starts {
            prop_assert!(!still.contains_key(&start.step), "{:?}", start);
        }
        prop_assert!(still.keys().all(|step| next.machine.is_detached(*step)));
    }
}
