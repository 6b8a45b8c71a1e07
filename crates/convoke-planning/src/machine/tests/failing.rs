use crate::{
    Backoff, PlanPolicyBuilder, StepIndex,
    StepStatus::*,
    machine::{
        Capabilities, Command, Event, Machine, StepError, StepErrorCode, StopReason, WorkOutcome,
        tests::bench::{Bench, ms, plan, policy, step},
    },
};

fn blocked(retryable: bool) -> WorkOutcome {
    WorkOutcome::Blocked { error: StepError::new(StepErrorCode::ExecutionBlocked, "not now"), retryable }
}

#[test]
fn a_failed_attempt_is_repeated_while_attempts_remain() {
    let mut bench = Bench::new(policy(|policy| policy.max_attempts(2)), [step("a")]).begin();
    bench.fail("a");
    assert_eq!((bench.status("a"), bench.starts[1].attempt), (Running, 2));
    assert_eq!(bench.starts[0].key, bench.starts[1].key);
    assert_eq!(bench.starts[0].key, "plan/a/0");
    bench.done("a");
    assert_eq!((bench.stop, bench.machine.attempts(bench.at("a"))), (Some(StopReason::Completed), 2));
    assert_eq!(bench.code("a"), None);

    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.fail("a");
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::Failed), Failed));
    assert_eq!(bench.code("a"), Some(StepErrorCode::ExecutionFailed));
}

#[test]
fn an_attempt_waits_longer_each_time_and_less_by_chance() {
    let backoff = Backoff::new(ms(100), ms(1_000), 0.5).unwrap();
    let waits = |seed| {
        let set = policy(|policy| policy.max_attempts(4).backoff(backoff));
        let machine = Machine::new(plan([step("a")]), set, |_, _| Some(Capabilities::new())).with_seed(seed);
        let mut bench = Bench::of(machine).begin();
        let mut waits = Vec::new();
        for _ in 0..3 {
            bench.fail("a");
            assert_eq!(bench.status("a"), Pending);
            let wake = bench.wake.unwrap();
            waits.push(wake.saturating_sub(bench.now.running));
            bench.now.running = wake.saturating_sub(ms(1));
            bench.send(Event::Tick);
            assert_eq!(bench.working().len(), 0);
            bench.wait(1);
            assert_eq!(bench.working(), ["a"]);
        }
        waits
    };
    let (one, other) = (waits(1), waits(2));
    assert_eq!(one, waits(1));
    assert_ne!(one, other);
    for (wait, longest) in one.iter().chain(&other).zip([100, 200, 400, 100, 200, 400]) {
        assert!(*wait <= ms(longest) && *wait > ms(longest / 2), "{wait:?} of {longest}");
    }
}

#[test]
fn a_blocked_step_is_tried_again_only_where_that_may_help() {
    let mut bench = Bench::new(policy(|policy| policy.max_attempts(2)), [step("a"), step("b")]).begin();
    bench.end("a", blocked(true));
    assert_eq!(bench.status("a"), Running);
    bench.end("a", blocked(true));
    assert_eq!((bench.status("a"), bench.stop), (Blocked, Some(StopReason::Blocked)));

    let mut bench = Bench::new(policy(|policy| policy.max_attempts(2)), [step("a"), step("b")]).begin();
    bench.end("a", blocked(false));
    assert_eq!(
        (bench.status("a"), bench.status("b"), bench.stop),
        (Blocked, Pending, Some(StopReason::Blocked))
    );
}

#[test]
fn who_stops_unasked_has_failed() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.end("a", WorkOutcome::Cancelled);
    assert_eq!((bench.status("a"), bench.code("a")), (Failed, Some(StepErrorCode::ExecutionCancelled)));
}

#[test]
fn going_on_skips_what_waits_for_completion_and_runs_the_rest() {
    let steps = [
        step("a"),
        step("b").after("a"),
        step("c"),
        step("d").after("b").after("e"),
        step("e"),
        step("sum").after_end_of("d").after_end_of("a"),
    ];
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(9));
    let mut bench = Bench::new(set, steps).begin();
    bench.fail("a");
    assert_eq!((bench.status("b"), bench.status("d")), (Skipped, Skipped));
    assert_eq!(bench.status("sum"), Running, "the end of those before it is enough");
    bench.fail("e").done("c").done("sum");
    let causes = |id| {
        bench.machine.skip_causes(bench.at(id)).into_iter().map(|cause| bench.name(cause)).collect::<Vec<_>>()
    };
    assert_eq!(
        (causes("b"), causes("d"), causes("c")),
        (vec!["a".into()], vec!["a".into(), "e".into()], vec![])
    );
    assert_eq!(bench.stop, Some(StopReason::Failed));
    assert_eq!(bench.machine.count_of(Completed), 2);
}

#[test]
fn after_a_fatal_failure_nothing_starts_and_what_runs_ends() {
    // Whatever comes first, the retryable one is left pending and the error is the first in plan order.
    for order in
        [["fatal", "retryable", "other"], ["retryable", "other", "fatal"], ["other", "fatal", "retryable"]]
    {
        let steps = [step("retryable"), step("fatal"), step("other"), step("next").after("other")];
        let set = policy(|policy| {
            policy.max_attempts(2).max_parallel_steps(3).backoff(Backoff::new(ms(10), ms(10), 0.0).unwrap())
        });
        let mut bench = Bench::new(set, steps).begin();
        // One attempt of the fatal one is used up.
        bench.fail("fatal").wait(10);
        for id in order {
            bench.fail(id);
        }
        assert_eq!(bench.stop, Some(StopReason::Failed), "{order:?}");
        let (step, error) = bench.machine.first_error().unwrap();
        assert_eq!((bench.name(step).as_str(), error.code), ("fatal", StepErrorCode::ExecutionFailed));
        for id in ["retryable", "other", "next"] {
            assert_eq!(bench.status(id), Pending, "{id} in {order:?}");
        }
        assert_eq!(bench.working().len(), 0);
    }
}

#[test]
fn a_step_without_executor_is_blocked() {
    let set = policy(PlanPolicyBuilder::continue_after_failure);
    let nobody = |_: &crate::Plan, step: StepIndex| (step.get() > 0).then(Capabilities::new);
    let mut bench = Bench::of(Machine::new(plan([step("a"), step("b")]), set, nobody)).begin();
    assert_eq!((bench.status("a"), bench.code("a")), (Blocked, Some(StepErrorCode::NoExecutor)));
    bench.done("b");
    assert_eq!(bench.stop, Some(StopReason::Blocked));
}

/// Has no number for `bad`.
fn scorer(_: &crate::Plan, step: &crate::PlanStep) -> f64 {
    if step.id.as_str() == "bad" { f64::NAN } else { 1.0 }
}

#[test]
fn a_score_that_orders_nothing_ends_the_run_once_what_is_at_work_has_ended() {
    let set = || policy(|policy| policy.max_parallel_steps(2).continue_after_failure());
    let steps =
        [step("a"), step("b"), step("bad").after("a"), step("c").after("a"), step("d").after("b"), step("e")];
    let machine = Machine::new(plan(steps), set(), |_, _| Some(Capabilities::new())).with_scorer(scorer);
    let mut bench = Bench::of(machine).begin();
    assert_eq!(bench.working(), ["a", "b"]);
    bench.done("a");
    let told = bench.machine.score_error().unwrap().to_string();
    assert_eq!(told, "score of step `bad` is NaN; give a number from -2^46 to 2^46");
    assert_eq!((bench.working(), bench.stop), (vec!["b".to_owned()], None));
    bench.done("b");
    assert_eq!((bench.working().len(), bench.stop), (0, Some(StopReason::InvalidScore)));
    assert_eq!(["bad", "c", "d", "e"].map(|id| bench.status(id)), [Pending; 4]);
    assert_eq!(bench.machine.first_error(), None);

    // With a scorer that knows better, the plan goes on.
    let mut again = bench.again(set()).resume();
    assert_eq!(again.working(), ["bad", "c"]);
    again.done("bad").done("c").done("d").done("e");
    assert_eq!(again.stop, Some(StopReason::Completed));
}

#[test]
fn a_run_that_ends_for_a_score_waits_for_no_planner_and_no_other_attempt() {
    let set = || {
        let policy = crate::PlanPolicy::builder().max_parallel_steps(2).max_attempts(2);
        policy.replanning(1).continue_after_failure().build().unwrap()
    };
    let steps = [step("a"), step("b"), step("bad").after("a")];
    let machine = Machine::new(plan(steps.clone()), set(), |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine.with_scorer(scorer)).begin();
    bench.fail("b").done("a");
    assert_eq!((bench.status("b"), bench.stop), (Pending, Some(StopReason::InvalidScore)));

    let once = policy(|policy| policy.max_parallel_steps(2).replanning(1));
    let machine = Machine::new(plan(steps.clone()), once, |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine.with_scorer(scorer)).begin();
    bench.done("a").fail("b");
    assert_eq!((bench.status("b"), bench.stop), (Failed, Some(StopReason::InvalidScore)));
    assert!(!bench.last.iter().any(|command| matches!(command, Command::AskPlanner { .. })));
    // Who ends the run by hand has ended it.
    let mut bench = Bench::of(machine_of(&steps)).begin();
    bench.done("a").send(Event::Cancel).end("b", WorkOutcome::Cancelled);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));
}

#[test]
fn a_planner_that_was_to_be_asked_is_not_once_the_run_ends() {
    let set = || policy(|policy| policy.max_parallel_steps(2).replanning(1));
    let mut bench = Bench::new(set(), [step("a"), step("b")]).begin();
    let is_asked =
        |bench: &Bench| bench.last.iter().any(|command| matches!(command, Command::AskPlanner { .. }));
    bench.durable_at_once = false;
    bench.fail("a").send(Event::Cancel);
    bench.last.clear();
    bench.persisted();
    assert!(!is_asked(&bench));
    bench.durable_at_once = true;
    bench.end("b", WorkOutcome::Cancelled);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));
    // That it was to be is on record.
    assert!(is_asked(&bench.again(set()).resume()));
}

fn machine_of(steps: &[crate::StepDraft]) -> Machine {
    let set = policy(|policy| policy.max_parallel_steps(2));
    Machine::new(plan(steps.to_vec()), set, |_, _| Some(Capabilities::new())).with_scorer(scorer)
}

#[test]
fn the_end_says_so_once_and_last() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.done("a");
    assert_eq!(bench.last.last(), Some(&Command::Finish(StopReason::Completed)));
    assert!(bench.try_send(Event::Cancel).is_err());
}

#[test]
fn without_going_on_nothing_is_skipped() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").after("a")]).begin();
    bench.fail("a");
    assert_eq!((bench.status("b"), bench.stop), (Pending, Some(StopReason::Failed)));
}
