//! The calls of the machine and their answers, in words that the machine and the reference share.

use std::collections::BTreeMap;

use convoke_core::{CapacityPolicy, ErrorCode};

use super::reference::Reference;
use crate::dispatch::Availability;

/// A task, or a wait, by a letter. The id of the task is that letter.
pub(super) type Name = char;

#[derive(Clone, Debug)]
pub(super) enum Call {
    Register { agent: &'static str, skills: Vec<&'static str>, max: u32 },
    Remove { agent: &'static str },
    Set { agent: &'static str, availability: Availability },
    Claim { task: Name, pool: usize },
    Request(Request),
    Withdraw { task: Name },
    Release { task: Name },
    Detach { task: Name },
    ForfeitSlot { task: Name },
    OpenWait { wait: Name, awaiter: Name },
    Await { wait: Name, task: Name },
    CloseWait { wait: Name },
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) task: Name,
    pub(super) want: Wanted,
    pub(super) policy: CapacityPolicy,
    pub(super) pool: usize,
    /// Whether the task has a claim that is not in line yet.
    pub(super) is_claimed: bool,
    pub(super) awaited_in: Option<Name>,
}

#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Agent { skills: Vec<&'static str>, preferred: Option<&'static str> },
    Slot,
}

/// What somebody was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Granted(Option<String>),
    Refused(ErrorCode),
    Queued,
    /// Whoever awaits it may not; it stays in line.
    Unawaited,
    /// Whether the call did anything.
    Done(bool),
}

/// What the caller was told, and what those who wait were told.
pub(super) type Answer = (Told, BTreeMap<Name, Told>);

pub(super) trait Rules: Clone {
    fn call(&mut self, call: &Call) -> Answer;

    fn reference(&self) -> &Reference;
}

impl Request {
    /// A request that waits, of a task that has no claim yet and that nobody awaits.
    pub(super) fn new(task: Name, want: Wanted) -> Self {
        let policy = CapacityPolicy::Wait;
        Self { task, want, policy, pool: 0, is_claimed: false, awaited_in: None }
    }
}

impl Wanted {
    pub(super) fn agent(agent: &'static str) -> Self {
        Self::Agent { skills: Vec::new(), preferred: Some(agent) }
    }

    pub(super) fn skill(skill: &'static str) -> Self {
        Self::Agent { skills: vec![skill], preferred: None }
    }
}
