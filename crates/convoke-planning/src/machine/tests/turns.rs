use crate::{
    PrioritySignals,
    machine::{
        Capabilities, Event, Machine,
        tests::{
            bench::{Bench, plan, policy, step},
            revising::{next, replanning},
        },
    },
};

/// All steps but those take turns, and two have a place.
fn press_but(plan: crate::Plan, free: &[&str]) -> Bench {
    let set = policy(|policy| policy.max_parallel_steps(2));
    let machine = Machine::new(plan, set, |plan, step| {
        let is_free = free.contains(&plan.step(step).unwrap().id.as_str());
        Some(if is_free { Capabilities::new() } else { Capabilities::new().serial("k") })
    });
    Bench::of(machine).begin()
}

#[test]
fn the_best_of_those_that_wait_takes_the_turn() {
    let worth =
        |id: &str, priority: f64| step(id).with_signals(PrioritySignals::new().with_priority(priority));
    let due = |id: &str, in_millis: u64| {
        step(id).with_signals(PrioritySignals::new().with_deadline(1_000_000 + in_millis))
    };
    let steps =
        [worth("w", 9.0), worth("low", 0.1), worth("high", 0.3), worth("mid", 0.2), worth("free", -1.0)];
    let mut bench = press_but(plan(steps), &["free"]);
    for next in ["w", "high", "mid", "low"] {
        assert_eq!(bench.working(), [next, "free"]);
        bench.done(next);
    }

    // They waited in plan order, and meanwhile a deadline has come.
    let steps = [worth("w", 9.0), worth("a", 0.5), due("b", 86_400_000), worth("free", -1.0)];
    let mut bench = press_but(plan(steps.clone()), &["free"]);
    bench.pass(86_400_000).done("w");
    assert_eq!(bench.working(), ["b", "free"]);

    // Also where the turn was free for a while, and no place.
    let steps = steps.into_iter().chain([worth("urgent", 5.0).after("w")]);
    let mut bench = press_but(plan(steps), &["free", "urgent"]);
    bench.done("w");
    assert_eq!(bench.working(), ["free", "urgent"]);
    bench.pass(86_400_000).done("urgent");
    assert_eq!(bench.working(), ["b", "free"]);
    bench.done("b");
    assert_eq!(bench.working(), ["a", "free"]);
}

#[test]
fn a_turn_is_free_when_all_have_ended_that_a_revision_gave_it_to() {
    let serial = || Capabilities::new().serial("press");
    let machine =
        Machine::new(
            plan([step("a"), step("b"), step("c")]),
            replanning(1),
            |_, _| Some(Capabilities::new()),
        );
    let mut bench = Bench::of(machine).begin();
    bench.fail("a");
    let plan = next(&bench, [step("x"), step("b"), step("c")]);
    bench.send(Event::RevisionReady { plan, executors: vec![Some(serial()); 3] });
    assert_eq!(bench.working(), ["b", "c"]);
    bench.done("c");
    assert_eq!(bench.working(), ["b"]);
    bench.done("b");
    assert_eq!(bench.working(), ["x"]);
}
