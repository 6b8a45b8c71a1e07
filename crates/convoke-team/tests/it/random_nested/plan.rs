//! Random teams and what their agents do: trees of work that asks for work.

use proptest::prelude::*;

use convoke_registry::Availability;

pub(super) const AGENTS: [&str; 3] = ["a", "b", "c"];
const SKILLS: [&str; 2] = ["x", "y"];

/// All times are even, in milliseconds, so that at an odd moment nothing is half done.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) agents: Vec<Agent>,
    pub(super) limit: usize,
    /// When each root is asked for, and what it does.
    pub(super) roots: Vec<(u64, Tree)>,
    pub(super) changes: Vec<(u64, usize, Availability)>,
}

#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) skills: Vec<&'static str>,
    pub(super) max: u32,
    pub(super) aborts: bool,
}

/// What a task does: asks for others, one way after the other, and ends.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) skill: &'static str,
    pub(super) asks: Vec<(Way, Vec<Tree>)>,
    pub(super) end: End,
}

/// How a task asks for others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    OneByOne,
    Together,
    /// Taking each answer as it comes.
    Each,
    Spawned,
    Independent,
    /// Started and left alone.
    Left,
    LeftIndependent,
    /// As the body of a coordinated task each.
    Coordinated,
    /// Given up after so long: what was asked for is stopped.
    Dropped(u64),
    DroppedTogether(u64),
    /// So many answers taken, and the rest given up after so long.
    DroppedEach(usize, u64),
    /// Stopped after so long, where there are deadlines.
    Timed(u64),
    /// Not awaited any longer after so long, and not stopped.
    AwaitedFor(u64),
    IndependentFor(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// Goes on so long whatever happens, which may be longer than the grace.
    Replies(u64),
    Panics(u64),
    /// Goes on so long unless it is asked to stop.
    Obeys(u64),
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let availability = prop_oneof![
        2 => Just(Availability::Available),
        1 => Just(Availability::Draining),
        1 => Just(Availability::Offline),
    ];
    let changes = prop::collection::vec((even(60), 0..3_usize, availability), 0..5);
    let roots = prop::collection::vec((even(30), tree()), 1..4);
    (prop::collection::vec(agent(), 1..=3), 1..=3_usize, roots, changes)
        .prop_map(|(agents, limit, roots, changes)| Plan { agents, limit, roots, changes })
}

fn even(below: u64) -> impl Strategy<Value = u64> {
    (0..below / 2).prop_map(|half| half * 2)
}

fn agent() -> impl Strategy<Value = Agent> {
    let skills = prop::sample::subsequence(SKILLS.to_vec(), 1..=2);
    (skills, 1..=3_u32, prop::bool::weighted(0.2)).prop_map(|(skills, max, aborts)| Agent {
        skills,
        max,
        aborts,
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let skill = || prop::sample::select(SKILLS.to_vec());
    let leaf = (skill(), end()).prop_map(|(skill, end)| Tree { skill, asks: Vec::new(), end });
    leaf.prop_recursive(4, 20, 4, move |inner| {
        let asks = prop::collection::vec((way(), prop::collection::vec(inner, 1..4)), 1..3);
        (skill(), asks, end()).prop_map(|(skill, asks, end)| Tree { skill, asks, end })
    })
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        3 => Just(Way::OneByOne),
        3 => Just(Way::Together),
        2 => Just(Way::Each),
        2 => Just(Way::Spawned),
        2 => Just(Way::Independent),
        1 => Just(Way::Left),
        1 => Just(Way::LeftIndependent),
        1 => Just(Way::Coordinated),
        2 => even(20).prop_map(Way::Dropped),
        1 => even(20).prop_map(Way::DroppedTogether),
        2 => (0..3_usize, even(20)).prop_map(|(taken, millis)| Way::DroppedEach(taken, millis)),
        2 => (2..20_u64).prop_map(|half| Way::Timed(half * 2)),
        2 => even(20).prop_map(Way::AwaitedFor),
        2 => even(20).prop_map(Way::IndependentFor),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        5 => even(30).prop_map(End::Replies),
        1 => even(20).prop_map(End::Panics),
        2 => even(60).prop_map(End::Obeys),
    ]
}
