//! Small teams, in every order that their steps can take: nobody hangs, no slot lies idle while somebody needs nothing
//! else, no more work is awake than there are slots or was let go of or given up, and none is refused that could have
//! been served.

use std::{collections::HashSet, sync::Arc};

use proptest::prelude::*;

use super::{
    both::Both,
    random::cases,
    reference::Reference,
    rules::{Rules, Wanted},
    team::{Op, Refused, Spec, Status, Step, Team},
};

/// How many states of one team are looked at, which most teams have fewer of where somebody asks for more cases.
fn states() -> usize {
    if std::env::var_os("PROPTEST_CASES").is_some() { 20_000 } else { 400 }
}

fn want() -> impl Strategy<Value = Wanted> {
    let agent = proptest::sample::select(vec!["a", "b", "c"]).prop_map(Wanted::agent);
    let skill = proptest::sample::select(vec!["ab", "ac", "bc"]).prop_map(Wanted::skill);
    prop_oneof![2 => agent, 1 => skill]
}

/// A task that starts others down to a depth.
fn spec(depth: usize) -> BoxedStrategy<Arc<Spec>> {
    let program = if depth == 0 {
        Just(Vec::new()).boxed()
    } else {
        let nested = || spec(depth - 1);
        let op = prop_oneof![
            8 => nested().prop_map(|spec| Op::Call(vec![spec])),
            4 => (nested(), nested()).prop_map(|(one, other)| Op::Call(vec![one, other])),
            5 => (0..2usize, nested()).prop_map(|(handle, spec)| Op::Start(handle, spec)),
            5 => (0..2usize).prop_map(Op::Join),
        ];
        proptest::collection::vec(op, 0..3).boxed()
    };
    (want(), program).prop_map(|(want, program)| Arc::new(Spec { want, program })).boxed()
}

/// Follows every order of steps, and judges each state.
fn explore(limit: usize, start: Team<Both>) {
    let states = states();
    let mut seen = HashSet::from([start.key()]);
    let mut open = vec![start];
    while let Some(team) = open.pop() {
        judge(limit, &team);
        for step in team.own_steps().into_iter().chain(team.other_steps()) {
            let next = team.after(step);
            for index in 0..next.refused.len() {
                assert!(
                    !was_needless(&team, step, index),
                    "{:?} at {step:?} of {:?}",
                    next.refused,
                    team.tasks
                );
            }
            if seen.len() < states && seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
}

fn judge(limit: usize, team: &Team<Both>) {
    let tasks = &team.tasks;
    if team.is_over() {
        assert_eq!(team.rules.machine.in_use(), [0, 0, 0, 1], "everything is given back");
        return;
    }
    assert!(!team.own_steps().is_empty(), "a hang: {tasks:?}");
    let awake = team.awake();
    // Work that has lost the slot that it was lent takes one in any case.
    let beyond = team.rules.reference.taken(0).saturating_sub(limit);
    assert!(awake <= limit + team.detached() + beyond, "{awake} awake, {beyond} beyond the limit: {tasks:?}");
    let queued: Vec<_> = tasks.iter().filter(|task| task.status == Status::Queued).collect();
    let lack_a_slot = queued.iter().all(|task| team.rules.reference.has_unit(&task.spec.want));
    // One that is about to ask takes its slot then.
    let is_coming = tasks.iter().any(|task| task.status == Status::Coming);
    assert!(awake > 0 || is_coming || queued.is_empty() || !lack_a_slot, "only a slot is missing: {tasks:?}");
}

/// Whether what was refused could have come about after all, had everybody from it on waited.
fn was_needless(before: &Team<Both>, step: Step, index: usize) -> bool {
    let mut rules = before.rules.reference().clone();
    rules.refusals_left = index;
    let refused = before.after(step).refused[index];
    let start = before.under(rules).after(step);
    reaches(start, refused)
}

fn reaches(start: Team<Reference>, goal: Refused) -> bool {
    let states = states();
    let mut seen = HashSet::from([start.key()]);
    let mut open = vec![start];
    while let Some(team) = open.pop() {
        if team.reaches(goal) {
            return true;
        }
        for step in team.own_steps() {
            let next = team.after(step);
            if seen.len() < states && seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
    false
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn small_teams_do_well_in_every_order_of_their_steps(
        limit in 1..4usize,
        capacities in [1..3u32, 1..3u32, 1..3u32],
        roots in proptest::collection::vec(spec(2), 2..4),
    ) {
        explore(limit, Team::new(Both::new(&[limit]), capacities, &roots));
    }
}
