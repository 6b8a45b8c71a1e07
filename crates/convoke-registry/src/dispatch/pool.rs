//! Pools of slots, and the queues of those in line for a lease and a slot of one pool.

use std::collections::BTreeSet;

use convoke_core::CapacityPolicy;

use super::{AgentKey, ClaimKey, DemandKey, PoolKey, QueueKey};

/// When a ticket was drawn: smaller is older.
pub(super) type Age = u64;

/// A limit that the leases granted from it share.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Pool {
    pub(super) limit: usize,
    pub(super) taken: usize,
    /// The queues whose target has a free unit, by the age of their first ticket.
    pub(super) ready: BTreeSet<(Age, QueueKey)>,
    /// How many tickets are in line for a slot of this pool.
    pub(super) waiting: usize,
    /// Whether it is the slot of a task, lent to what that awaits.
    is_lent: bool,
}

impl Pool {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: 0, ready: BTreeSet::new(), waiting: 0, is_lent: false }
    }

    /// The slot of a task that awaits others.
    pub(super) fn lent() -> Self {
        Self { is_lent: true, ..Self::new(1) }
    }

    pub(super) fn is_free(&self) -> bool {
        self.taken < self.limit
    }

    pub(super) fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Whether more slots are taken than there are, because of work that had to take one of its own.
    pub(super) fn is_over(&self) -> bool {
        self.taken > self.limit
    }

    /// The age of the oldest ticket that a free unit and a free slot of this pool could serve now; `open` lists the pool
    /// under it.
    pub(super) fn grantable_since(&self) -> Option<Age> {
        self.ready.first().map(|(age, _)| *age).filter(|_| self.is_free())
    }
}

/// What a ticket is in line for, besides the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// Any agent that meets a demand.
    AnyWith(DemandKey),
    /// This agent.
    Agent(AgentKey),
    /// Nobody: a slot is all that is asked for.
    SlotAlone,
}

/// The tickets with the same target, pool and policy, oldest first.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Queue {
    pub(super) target: Target,
    pub(super) pool: PoolKey,
    pub(super) policy: CapacityPolicy,
    pub(super) tickets: BTreeSet<(Age, ClaimKey)>,
    /// The age under which the pool lists this queue as ready.
    pub(super) listed: Option<Age>,
}
