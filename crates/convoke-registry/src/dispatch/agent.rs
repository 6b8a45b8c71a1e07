//! An agent as the machine sees it.

use std::collections::BTreeSet;

use convoke_core::{AgentId, SkillId};

use super::{AgentKey, Availability, ClaimKey, DemandKey, QueueKey, demand::Candidate, load::Load};

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Agent {
    pub(super) id: AgentId,
    pub(super) skills: BTreeSet<SkillId>,
    pub(super) max: u32,
    pub(super) active: u32,
    pub(super) detached: u32,
    pub(super) availability: Availability,
    /// The demands in use that it meets.
    pub(super) demands: Vec<DemandKey>,
    /// Who waits for it by name.
    pub(super) queues: Vec<QueueKey>,
    /// Who holds a unit of it and awaits something.
    pub(super) blocked: BTreeSet<ClaimKey>,
}

/// Whether an agent has a free unit, and where it is listed with that; nowhere where it meets no demand in use.
pub(super) struct Listed {
    pub(super) is_free: bool,
    pub(super) load: Option<Load>,
}

impl Agent {
    pub(super) fn new(id: AgentId, skills: BTreeSet<SkillId>, max: u32) -> Self {
        Self {
            id,
            skills,
            max,
            active: 0,
            detached: 0,
            availability: Availability::Available,
            demands: Vec::new(),
            queues: Vec::new(),
            blocked: BTreeSet::new(),
        }
    }

    pub(super) fn is_available(&self) -> bool {
        self.availability == Availability::Available
    }

    pub(super) fn is_free(&self) -> bool {
        self.is_available() && self.active < self.max
    }

    /// Its place among the agents with a free unit, if it has one.
    pub(super) fn free(&self, key: AgentKey) -> Option<Load> {
        self.is_free().then(|| Load { active: self.active, max: self.max, id: self.id.clone(), key })
    }

    /// How the demands that it meets list it.
    pub(super) fn listed(&self, key: AgentKey) -> Listed {
        // Who is asked for by name mostly meets none, and a copy of the id costs more than the rest.
        let load = if self.demands.is_empty() { None } else { self.free(key) };
        Listed { is_free: self.is_free(), load }
    }

    pub(super) fn candidate(&self, key: AgentKey) -> Candidate<'_> {
        Candidate { key, skills: &self.skills, available: self.is_available(), free: self.free(key) }
    }

    /// Whether a unit of it is free, or held by work that awaits nothing.
    pub(super) fn has_unit_that_ends(&self) -> bool {
        self.blocked.len() < self.max as usize
    }
}
