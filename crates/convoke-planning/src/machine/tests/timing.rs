use std::time::Duration;

use crate::{
    PlanPolicyBuilder,
    StepStatus::*,
    machine::{
        Capabilities, Command, Event, Machine, Record, StepErrorCode, StopReason, WorkOutcome,
        tests::bench::{Bench, ms, output, plan, policy, step},
    },
};

fn completed() -> WorkOutcome {
    WorkOutcome::Completed(output("x"))
}

/// Steps of 20 ms, of which the first is not interruptible.
fn timed(set: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder) -> crate::PlanPolicy {
    policy(|policy| set(policy.step_timeout(ms(20)).grace(ms(5))))
}

#[test]
fn work_that_does_not_end_is_given_up_after_its_grace_and_not_repeated() {
    let mut bench = Bench::new(timed(|policy| policy.max_attempts(2)), [step("a")]).begin();
    assert_eq!((bench.starts[0].deadline, bench.wake), (Some(ms(20)), Some(ms(20))));
    bench.wait(19);
    assert_eq!(bench.last, []);
    bench.wait(1);
    let (step, start) = (bench.at("a"), bench.starts[0].start);
    assert_eq!(bench.last, [Command::Stop { step, start }, Command::WakeAt(Some(ms(25)))]);
    assert_eq!((bench.status("a"), bench.stop), (Running, None));
    bench.wait(5);
    assert_eq!((bench.status("a"), bench.code("a")), (Failed, Some(StepErrorCode::StepTimeout)));
    assert!(bench.machine.is_detached(bench.at("a")));
    assert_eq!((bench.stop, bench.machine.attempts(step)), (Some(StopReason::Failed), 1));
}

#[test]
fn work_that_ends_in_its_grace_counts_by_its_own_time() {
    // (ended, completed)
    for (ended, counts) in [(19, true), (20, true), (21, false)] {
        let mut bench = Bench::new(timed(|policy| policy), [step("a")]).begin();
        bench.wait(22).end_at("a", completed(), ms(ended));
        let wanted = if counts { Completed } else { Failed };
        assert_eq!(bench.status("a"), wanted, "ended at {ended}");
        assert!(!bench.machine.is_detached(bench.at("a")));
        // The same where nobody looked in between.
        let mut bench = Bench::new(timed(|policy| policy), [step("a")]).begin();
        bench.pass(500).end_at("a", completed(), ms(ended));
        assert_eq!(bench.status("a"), wanted, "ended at {ended}, seen late");
    }
}

#[test]
fn work_that_stops_at_its_deadline_has_timed_out_and_may_be_tried_again() {
    let mut bench = Bench::new(timed(|policy| policy.max_attempts(2)), [step("a")]).begin();
    bench.wait(20).end("a", WorkOutcome::Cancelled);
    assert_eq!(bench.code("a"), Some(StepErrorCode::StepTimeout));
    assert_eq!((bench.status("a"), bench.starts[1].attempt), (Running, 2));
    // The time of the first attempt is not that of the second.
    assert_eq!(bench.wake, Some(ms(40)));
    bench.wait(10).done("a");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn an_executor_that_owns_its_deadline_is_not_raced() {
    let machine = Machine::new(plan([step("a")]), timed(|policy| policy), |_, _| {
        Some(Capabilities::new().owning_deadline())
    });
    let mut bench = Bench::of(machine).begin();
    assert_eq!((bench.starts[0].deadline, bench.wake), (Some(ms(20)), None));
    bench.wait(100).done("a");
    assert_eq!(bench.status("a"), Completed);

    for detached in [false, true] {
        let machine = Machine::new(plan([step("a")]), timed(|policy| policy), |_, _| {
            Some(Capabilities::new().owning_deadline())
        });
        let mut bench = Bench::of(machine).begin();
        bench.wait(30).end("a", WorkOutcome::TimedOut { detached });
        assert_eq!((bench.status("a"), bench.code("a")), (Failed, Some(StepErrorCode::StepTimeout)));
        assert_eq!(bench.machine.is_detached(bench.at("a")), detached);
    }
}

#[test]
fn a_detached_step_keeps_its_place_and_its_turn_until_it_ends() {
    let steps = [step("a"), step("b"), step("c")];
    let set = || timed(|policy| policy.continue_after_failure().max_parallel_steps(2));
    let serial = || {
        let of = |place| match place {
            0 | 1 => Capabilities::new().serial("press"),
            _ => Capabilities::new().owning_deadline(),
        };
        Bench::of(Machine::new(plan(steps.clone()), set(), |_, step| Some(of(step.get())))).begin()
    };
    let mut bench = serial();
    bench.wait(20).done("c");
    bench.wait(5);
    assert_eq!(
        (bench.status("a"), bench.stop),
        (Failed, Some(StopReason::Detached)),
        "b lacks only the turn of a"
    );

    let mut bench = serial();
    let lost = bench.starts[0].clone();
    bench.wait(20).wait(5);
    assert_eq!((bench.stop, bench.working().contains(&"b".to_owned())), (None, false));
    // Its end, by whatever word, is an end; its result comes too late.
    let (lost, start) = (lost.step, lost.start);
    bench.at_work.remove(&lost);
    bench.send(Event::WorkEnded { start, outcome: completed(), ended: ms(25) });
    assert_eq!((bench.status("a"), bench.machine.is_detached(lost)), (Failed, false));
    assert!(bench.working().contains(&"b".to_owned()));

    // That it goes on after all is no end.
    let mut bench = serial();
    let lost = bench.starts[0].clone();
    bench.wait(20).wait(5);
    let (lost, start) = (lost.step, lost.start);
    bench.at_work.remove(&lost);
    bench.send(Event::WorkEnded { start, outcome: WorkOutcome::TimedOut { detached: true }, ended: ms(25) });
    assert_eq!((bench.machine.is_detached(lost), bench.working().contains(&"b".to_owned())), (true, false));
    bench.send(Event::DetachedEnded { start });
    assert_eq!((bench.machine.is_detached(lost), bench.working().contains(&"b".to_owned())), (false, true));

    // Without a key, it is the place that is missing.
    let mut bench =
        Bench::new(timed(PlanPolicyBuilder::continue_after_failure), [step("a"), step("b")]).begin();
    bench.wait(20).wait(5);
    assert_eq!((bench.stop, bench.status("b")), (Some(StopReason::Detached), Pending));
}

#[test]
fn a_cancelled_run_waits_for_the_grace_and_no_longer() {
    let steps = ["done", "stops", "stays", "failed"].map(step);
    let mut bench = Bench::new(policy(|policy| policy.max_parallel_steps(4)), steps).begin();
    bench.pass(10).send(Event::Cancel);
    assert_eq!(bench.last.iter().filter(|command| matches!(command, Command::Stop { .. })).count(), 4);
    assert_eq!(bench.wake, Some(ms(60)));
    bench.pass(1).done("done").end("stops", WorkOutcome::Cancelled).fail("failed");
    assert_eq!(bench.stop, None);
    bench.wait(49);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));
    let standing = ["done", "stops", "stays", "failed"].map(|id| bench.status(id));
    assert_eq!(standing, [Completed, Pending, Running, Pending]);
    assert_eq!(bench.machine.attempts(bench.at("stops")), 0);
    assert!(bench.machine.is_detached(bench.at("stays")));
    let detached = bench.records().into_iter().find(|record| matches!(record, Record::Detached { .. }));
    assert!(matches!(
        detached,
        Some(Record::Detached { stop: StopReason::Cancelled, executor_cooperative_cancellation: false, .. })
    ));
}

#[test]
fn cooperative_steps_are_all_pending_after_a_cancel_and_a_resume_completes() {
    let steps = ["a", "b", "c", "d"];
    let set = || policy(|policy| policy.max_parallel_steps(4));
    let mut bench = Bench::new(set(), steps.map(step)).begin();
    bench.send(Event::Cancel);
    for id in steps {
        bench.end(id, WorkOutcome::Cancelled);
    }
    assert_eq!((bench.stop, bench.machine.count_of(Pending)), (Some(StopReason::Cancelled), 4));
    let mut bench = bench.again(set()).resume();
    for id in steps {
        bench.done(id);
    }
    assert_eq!((bench.stop, bench.starts[0].attempt), (Some(StopReason::Completed), 1));
}

#[test]
fn a_start_that_was_not_yet_durable_is_taken_back() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]);
    bench.durable_at_once = false;
    bench.send(Event::Begin).send(Event::Cancel).persisted();
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::Cancelled), Pending));
    assert_eq!(bench.starts, []);
}

#[test]
fn the_time_of_the_run_is_summed_over_resumes_and_cancels() {
    let set = || policy(|policy| policy.run_timeout(ms(100)).grace(ms(5)));
    let chain = || [step("a"), step("b").after("a")];
    let mut bench = Bench::new(set(), chain()).begin();
    assert_eq!(bench.starts[0].deadline, Some(ms(100)));
    bench.pass(60).done("a");
    assert_eq!(bench.working(), ["b"]);
    // 60 ms are on record; where the process ended later, that time is lost.
    let mut bench = bench.again(set());
    bench.now.running = Duration::from_secs(500);
    let mut bench = bench.resume();
    assert_eq!(bench.starts[0].deadline, Some(Duration::from_secs(500) + ms(40)));
    bench.wait(39);
    assert_eq!(bench.last, []);
    bench.wait(1);
    assert!(matches!(bench.last[..], [Command::Stop { .. }, Command::WakeAt(_)]), "{:?}", bench.last);
    bench.wait(5);
    assert_eq!((bench.stop, bench.status("b")), (Some(StopReason::RunTimeout), Running));

    // In the next run nothing is left of it.
    let bench = bench.again(set()).resume();
    assert_eq!((bench.stop, bench.order().len()), (Some(StopReason::RunTimeout), 0));
}

#[test]
fn what_ended_before_the_run_counts_and_what_ended_after_does_not() {
    for (ended, standing) in [(99, Completed), (100, Completed), (101, Pending)] {
        let set = policy(|policy| policy.run_timeout(ms(100)));
        let mut bench = Bench::new(set, [step("a"), step("b").after("a")]).begin();
        bench.pass(120).end_at("a", completed(), ms(ended));
        assert_eq!(
            (bench.status("a"), bench.stop),
            (standing, Some(StopReason::RunTimeout)),
            "ended at {ended}"
        );
        assert_eq!(bench.order(), ["a"]);
    }
    // Told in its grace, it is the same.
    for (ended, standing) in [(100, Completed), (101, Pending)] {
        let mut bench =
            Bench::new(policy(|policy| policy.run_timeout(ms(100))), [step("a"), step("b")]).begin();
        bench.wait(110).end_at("a", completed(), ms(ended));
        assert_eq!(
            (bench.status("a"), bench.stop),
            (standing, Some(StopReason::RunTimeout)),
            "ended at {ended}"
        );
    }
    // The last step of all was in time, and nobody looked.
    let mut bench = Bench::new(policy(|policy| policy.run_timeout(ms(100))), [step("a")]).begin();
    bench.pass(120).end_at("a", completed(), ms(99));
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn of_several_reasons_the_first_is_told() {
    let set = policy(|policy| policy.run_timeout(ms(100)));
    let mut bench = Bench::new(set, [step("a")]).begin();
    bench.wait(100).send(Event::Cancel).send(Event::Cancel);
    bench.end("a", WorkOutcome::Cancelled);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));
}

#[test]
fn the_time_of_an_attempt_that_has_ended_is_not_that_of_the_next() {
    let set = timed(|policy| policy.max_attempts(2).max_parallel_steps(2));
    let mut bench = Bench::new(set, [step("x"), step("b"), step("a").after("b")]).begin();
    bench.pass(1).done("b");
    // The time of the first attempt stays in the list behind that of `x`.
    bench.pass(4).fail("a").pass(5).done("x");
    assert_eq!((bench.working(), bench.wake), (vec!["a".to_owned()], Some(ms(25))));
    bench.wait(14);
    assert_eq!(bench.last, []);
}

#[test]
fn the_earlier_of_two_deadlines_is_told() {
    for (own, of_run, told) in [(200, 100, 100), (100, 200, 100)] {
        let set = policy(|policy| policy.step_timeout(ms(own)).run_timeout(ms(of_run)));
        let bench = Bench::new(set, [step("a")]).begin();
        assert_eq!((bench.starts[0].deadline, bench.wake), (Some(ms(told)), Some(ms(told))));
    }
}

#[test]
fn a_run_that_ends_gives_all_the_same_grace() {
    let mut bench = Bench::new(timed(|policy| policy), [step("a")]).begin();
    bench.wait(20).pass(4).send(Event::Cancel);
    bench.wait(4);
    assert_eq!(
        (bench.stop, bench.status("a")),
        (None, Running),
        "the grace of the step is over, that of the run is not"
    );
    bench.wait(1);
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::Cancelled), Running));
}

#[test]
fn a_start_that_was_taken_back_does_not_come_when_its_record_is_durable() {
    let mut bench = Bench::new(
        policy(|policy| policy.max_parallel_steps(2)),
        [step("a"), step("b").after("c"), step("c")],
    );
    bench.send(Event::Begin);
    bench.durable_at_once = false;
    bench.done("c").send(Event::Cancel).persisted();
    assert_eq!((bench.stop, bench.working()), (None, vec!["a".to_owned()]));
    bench.end("a", WorkOutcome::Cancelled).persisted();
    assert_eq!((bench.stop, bench.status("b")), (Some(StopReason::Cancelled), Pending));
}

#[test]
fn a_deadline_from_outside_ends_the_run_as_its_own_time_does() {
    // (run timeout, deadline, when the run ends)
    for (own, outer, end) in [(None, 30, 30), (Some(100), 30, 30), (Some(20), 30, 20)] {
        let set = policy(|policy| match own {
            Some(own) => policy.grace(ms(5)).run_timeout(ms(own)),
            None => policy.grace(ms(5)),
        });
        let machine = Machine::new(plan([step("a"), step("b")]), set, |_, _| Some(Capabilities::new()));
        let mut bench = Bench::of(machine.with_deadline(ms(outer))).begin();
        assert_eq!((bench.starts[0].deadline, bench.wake), (Some(ms(end)), Some(ms(end))));
        bench.wait(end - 1);
        assert_eq!(bench.last, []);
        bench.wait(1).wait(5);
        assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::RunTimeout), Running));
        assert_eq!(bench.order(), ["a"]);
    }
}

#[test]
fn a_deadline_from_outside_holds_for_a_resume_and_is_a_moment() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").after("a")]).begin();
    bench.pass(60).done("a");
    // Time that earlier runs took is none of its own.
    let mut again = bench
        .again_as(policy(|policy| policy), bench.journal.len(), |machine| machine.with_deadline(ms(1_000)));
    again.now.running = ms(970);
    let again = again.resume();
    assert_eq!((again.working(), again.starts[0].deadline), (vec!["b".to_owned()], Some(ms(1_000))));
    // Where it is over, nothing starts.
    let mut over = bench
        .again_as(policy(|policy| policy), bench.journal.len(), |machine| machine.with_deadline(ms(1_000)));
    over.now.running = ms(1_001);
    let over = over.resume();
    assert_eq!((over.stop, over.order().len()), (Some(StopReason::RunTimeout), 0));
}
