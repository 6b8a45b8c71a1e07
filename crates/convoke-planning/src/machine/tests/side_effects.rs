use crate::machine::{
    Capabilities, Durability, Effects, Event, Machine,
    tests::{
        bench::{Bench, plan, policy, step},
        revising::{asked, replanning, revise},
    },
};

#[test]
fn a_step_with_side_effects_starts_when_that_is_durable_whatever_else_is() {
    for durability in [Durability::Strict, Durability::Relaxed, Durability::OnExit] {
        let of = |place: u32| match place {
            0 => Capabilities::new().with_effects(Effects::SideEffect),
            _ => Capabilities::new(),
        };
        let set = policy(|policy| policy.max_parallel_steps(2));
        let machine = Machine::new(plan([step("pay"), step("look")]), set, |_, step| Some(of(step.get())));
        let mut bench = Bench::of(machine.with_durability(durability));
        bench.durable_at_once = false;
        bench.send(Event::Begin);
        let is_strict = durability == Durability::Strict;
        assert_eq!((bench.working().contains(&"look".to_owned()), bench.flushes), (!is_strict, 1));
        assert!(!bench.working().contains(&"pay".to_owned()), "{durability:?}");
        bench.send(Event::Tick);
        assert_eq!(bench.flushes, 1, "asked for once");
        bench.persisted();
        assert_eq!(bench.working(), ["pay", "look"]);
        // Its end is as durable as any other.
        bench.done("pay");
        assert_eq!(bench.flushes, 1 + usize::from(is_strict));
    }
}

#[test]
fn a_start_that_is_held_while_the_planner_is_asked_goes_on_at_its_new_place() {
    let machine = Machine::new(
        plan([step("a"), step("pay").after_end_of("z"), step("z")]),
        replanning(1),
        |_, step| {
            let effects = if step.get() == 1 { Effects::SideEffect } else { Effects::Idempotent };
            Some(Capabilities::new().with_effects(effects))
        },
    );
    let mut bench = Bench::of(machine.with_durability(Durability::Relaxed)).begin();
    bench.durable_at_once = false;
    bench.done("z").fail("a");
    assert_eq!((asked(&bench), bench.working().len()), (vec!["a".to_owned()], 0));
    revise(&mut bench, [step("x").after("y"), step("y").gated(), step("z"), step("pay").after_end_of("z")]);
    assert_eq!(bench.working().len(), 0);
    bench.persisted();
    assert_eq!(bench.working(), ["pay"]);
}
