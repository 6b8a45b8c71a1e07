//! Random plans: agents, what is asked of them and when, and what becomes of them meanwhile.

use proptest::prelude::*;

use convoke_registry::Availability;

pub(super) const AGENTS: [&str; 3] = ["a", "b", "c"];
pub(super) const SKILLS: [&str; 3] = ["x", "y", "z"];

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) agents: Vec<Agent>,
    pub(super) limit: usize,
    pub(super) tasks: Vec<Task>,
    pub(super) changes: Vec<(u64, usize, Availability)>,
}

#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) skills: Vec<&'static str>,
    pub(super) max: u32,
    pub(super) aborts: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    /// A few ids are asked for several times.
    pub(super) id: usize,
    pub(super) at: u64,
    pub(super) skills: Vec<&'static str>,
    pub(super) preferred: Option<&'static str>,
    pub(super) rejects: bool,
    pub(super) timeout: Option<u64>,
    pub(super) work: Work,
    pub(super) way: Way,
}

/// What the agent does, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Replies(u64),
    Fails(u64),
    Panics(u64),
    Pauses(u64),
    Obeys,
    /// Obeys, but takes its time.
    Lingers(u64),
}

/// How the task is started, and when it is given up, counted from its start.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Run,
    RunCancelled(u64),
    RunDropped(u64),
    Spawned,
    SpawnedCancelled(u64),
    SpawnedDropped,
    Together,
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let availability = prop_oneof![
        2 => Just(Availability::Available),
        1 => Just(Availability::Draining),
        1 => Just(Availability::Offline),
    ];
    let changes = prop::collection::vec((0..120_u64, 0..3_usize, availability), 0..4);
    (prop::collection::vec(agent(), 1..=3), 1..=4_usize, prop::collection::vec(task(), 1..12), changes)
        .prop_map(|(agents, limit, tasks, changes)| Plan { agents, limit, tasks, changes })
}

fn skills(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(SKILLS.to_vec(), 0..=most)
}

fn agent() -> impl Strategy<Value = Agent> {
    (skills(3), 1..=3_u32, any::<bool>()).prop_map(|(skills, max, aborts)| Agent { skills, max, aborts })
}

fn task() -> impl Strategy<Value = Task> {
    let asks = (
        skills(2),
        prop::option::weighted(0.2, prop::sample::select(vec!["a", "b", "c", "nobody"])),
        prop::bool::weighted(0.2),
        prop::option::of(1..60_u64),
    );
    (0..8_usize, 0..60_u64, asks, work(), way()).prop_map(|(id, at, asks, work, way)| {
        let (skills, preferred, rejects, timeout) = asks;
        Task { id, at, skills, preferred, rejects, timeout, work, way }
    })
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        4 => (0..150_u64).prop_map(Work::Replies),
        1 => (0..80_u64).prop_map(Work::Fails),
        1 => (0..80_u64).prop_map(Work::Panics),
        1 => (0..80_u64).prop_map(Work::Pauses),
        1 => Just(Work::Obeys),
        1 => (0..80_u64).prop_map(Work::Lingers),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        1 => Just(Way::Run),
        1 => (0..60_u64).prop_map(Way::RunCancelled),
        1 => (0..60_u64).prop_map(Way::RunDropped),
        1 => Just(Way::Spawned),
        1 => (0..60_u64).prop_map(Way::SpawnedCancelled),
        1 => Just(Way::SpawnedDropped),
        3 => Just(Way::Together),
    ]
}
