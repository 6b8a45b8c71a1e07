//! Pools of slots, and the queues of those who wait for a lease and a slot of one pool.

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
    /// The queues that an agent with a free unit could serve, by the age of their first ticket.
    pub(super) ready: BTreeSet<(Age, QueueKey)>,
    /// How many tickets wait for a slot of this pool.
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

    /// The age of the oldest ticket that only has to be granted, if a slot is free.
    pub(super) fn next(&self) -> Option<Age> {
        self.ready.first().map(|(age, _)| *age).filter(|_| self.is_free())
    }
}

/// What a ticket waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Any agent that meets a demand.
    Demand(DemandKey),
    /// This agent.
    Agent(AgentKey),
    /// A slot, and nobody with it.
    Slot,
}

/// The tickets that wait for the same place and pool, oldest first.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Queue {
    pub(super) place: Place,
    pub(super) pool: PoolKey,
    pub(super) policy: CapacityPolicy,
    pub(super) tickets: BTreeSet<(Age, ClaimKey)>,
    /// The age under which the pool lists this queue as ready.
    pub(super) listed: Option<Age>,
}
