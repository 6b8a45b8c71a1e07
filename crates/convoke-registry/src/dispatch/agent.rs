//! An agent as the machine sees it.

use std::collections::BTreeSet;

use convoke_core::SkillId;

use super::{ClaimKey, DemandKey, QueueKey, demand::Candidate, few::Few, load::Load};

/// Whether an agent takes new work. Any state can follow any other; running leases are untouched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Availability {
    /// Takes new work.
    #[default]
    Available,
    /// Finishes what it has and takes nothing new.
    Draining,
    /// Takes nothing.
    Offline,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Agent {
    /// How many of its units are in use; kept while none is free too.
    pub(super) load: Load,
    pub(super) skills: BTreeSet<SkillId>,
    pub(super) detached: u32,
    pub(super) availability: Availability,
    /// Whether the demands that it meets list it among the agents with a free unit.
    pub(super) is_listed: bool,
    /// The demands in use that it meets.
    pub(super) demands: Vec<DemandKey>,
    /// Of those in line for it by name.
    pub(super) queues: Vec<QueueKey>,
    /// Who holds a unit of it and awaits something; kept by `awaits_one_more` and `awaits_one_less` in `lending`.
    pub(super) blocked: Few<ClaimKey>,
}

impl Agent {
    pub(super) fn new(load: Load, skills: BTreeSet<SkillId>) -> Self {
        Self {
            load,
            skills,
            detached: 0,
            availability: Availability::Available,
            is_listed: false,
            demands: Vec::new(),
            queues: Vec::new(),
            blocked: Few::default(),
        }
    }

    pub(super) fn is_available(&self) -> bool {
        self.availability == Availability::Available
    }

    pub(super) fn is_free(&self) -> bool {
        self.is_available() && self.load.active < self.load.max
    }

    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            key: self.load.key,
            skills: &self.skills,
            available: self.is_available(),
            free: self.is_free().then_some(&self.load),
        }
    }

    /// Whether a unit of it is free, or held by work that awaits nothing.
    pub(super) fn has_unit_that_ends(&self) -> bool {
        self.blocked.len() < self.load.max as usize
    }
}
