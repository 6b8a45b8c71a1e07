//! Pools of slots, and the queues of those who wait for a lease and a slot of one pool.

use std::collections::BTreeSet;

use convoke_core::CapacityPolicy;

use super::{AgentKey, DemandKey, PoolKey, QueueKey, TicketKey};

/// When a ticket was drawn: smaller is older.
pub(super) type Age = u64;

/// A limit that the leases granted from it share.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) limit: usize,
    pub(super) taken: usize,
    /// The queues that an agent with a free unit could serve, by the age of their first ticket.
    pub(super) ready: BTreeSet<(Age, QueueKey)>,
    /// How many tickets wait for a slot of this pool.
    pub(super) waiting: usize,
}

impl Pool {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: 0, ready: BTreeSet::new(), waiting: 0 }
    }

    /// The age of the oldest ticket that only has to be granted, if a slot is free.
    pub(super) fn next(&self) -> Option<Age> {
        if self.taken < self.limit { self.ready.first().map(|(age, _)| *age) } else { None }
    }
}

/// What a ticket waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Any agent that meets a demand.
    Demand(DemandKey),
    /// This agent.
    Agent(AgentKey),
}

/// The tickets that wait for the same place and pool, oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) place: Place,
    pub(super) pool: PoolKey,
    pub(super) policy: CapacityPolicy,
    pub(super) tickets: BTreeSet<(Age, TicketKey)>,
    /// The age under which the pool lists this queue as ready.
    pub(super) listed: Option<Age>,
}
