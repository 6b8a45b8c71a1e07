//! Claims: what a task, or a host that takes a lease for itself, has of the capacity or is in line for.

use convoke_core::{CapacityPolicy, TaskId};

use super::{
    AgentKey, PoolKey, QueueKey, WaitKey,
    few::Few,
    pool::{Age, Target},
};

/// One claim on a unit of an agent and a slot, from before it is in line until both are given back.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Claim<W> {
    /// Whose it is, for the text of a refusal; that of a host names nobody.
    pub(super) task: Option<TaskId>,
    /// The limit that it belongs to.
    pub(super) pool: PoolKey,
    /// Whether it was there before anybody awaited it: where that wait could never end, the wait is refused and not this.
    pub(super) predates_wait: bool,
    pub(super) standing: Standing<W>,
    /// The wait in which somebody awaits it; a task has one handle, so that there is one at a time.
    pub(super) awaited_in: Option<WaitKey>,
    /// Where it is among all that is awaited in that. With this index, and the others like it, `take_out` needs no search.
    pub(super) index_in_wait: usize,
    /// The waits that it has open itself.
    pub(super) open_waits: Few<WaitKey>,
    /// How many it awaits in them.
    pub(super) awaited_count: usize,
    /// Where it is among the blocked holders of its agent, while it awaits any.
    pub(super) index_in_blocked: usize,
    /// The slot that it lends to what it awaits, as a pool of one; there from its first wait on.
    pub(super) lent_pool: Option<PoolKey>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) enum Standing<W> {
    /// Not in line yet.
    Coming,
    /// In line.
    Queued(Ticket<W>),
    /// Granted.
    Holding(Holding),
}

/// What a claim has while it is in line.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Ticket<W> {
    pub(super) age: Age,
    pub(super) target: Target,
    /// Where it is in line for a slot of its own limit.
    pub(super) own_queue: QueueKey,
    /// Where it is in line for the slot that is lent to it.
    pub(super) lent_queue: Option<QueueKey>,
    pub(super) policy: CapacityPolicy,
    /// For the caller, who answers through it.
    pub(super) waiter: W,
}

/// What was granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    /// The agent that a unit is held of; `None` for a slot alone.
    pub(super) agent: Option<AgentKey>,
    /// The pool that the slot is from; `None` where it was given back before the work ended.
    pub(super) slot: Option<PoolKey>,
    /// Nobody awaits the work any more, and it goes on all the same.
    pub(super) detached: bool,
}

impl<W> Claim<W> {
    pub(super) fn coming(task: Option<TaskId>, pool: PoolKey) -> Self {
        Self {
            task,
            pool,
            predates_wait: false,
            standing: Standing::Coming,
            awaited_in: None,
            index_in_wait: 0,
            open_waits: Few::default(),
            awaited_count: 0,
            index_in_blocked: 0,
            lent_pool: None,
        }
    }

    pub(super) fn is_coming(&self) -> bool {
        matches!(self.standing, Standing::Coming)
    }

    pub(super) fn ticket(&self) -> Option<&Ticket<W>> {
        match &self.standing {
            Standing::Queued(ticket) => Some(ticket),
            _ => None,
        }
    }

    pub(super) fn ticket_mut(&mut self) -> Option<&mut Ticket<W>> {
        match &mut self.standing {
            Standing::Queued(ticket) => Some(ticket),
            _ => None,
        }
    }

    pub(super) fn holding(&self) -> Option<Holding> {
        match self.standing {
            Standing::Holding(holding) => Some(holding),
            _ => None,
        }
    }

    pub(super) fn holding_mut(&mut self) -> Option<&mut Holding> {
        match &mut self.standing {
            Standing::Holding(holding) => Some(holding),
            _ => None,
        }
    }
}
