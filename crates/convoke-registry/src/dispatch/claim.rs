//! Claims: what a task, or a host, has of the capacity or waits for.

use convoke_core::{CapacityPolicy, TaskId};

use super::{
    AgentKey, PoolKey, QueueKey, WaitKey,
    few::Few,
    pool::{Age, Place},
};

/// One claim on a unit of an agent and a slot, from before it waits until it is given back.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Claim<W> {
    /// Whose it is, for the text of a refusal; a host that takes a lease for itself names nobody.
    pub(super) task: Option<TaskId>,
    /// The limit that it belongs to.
    pub(super) pool: PoolKey,
    /// Whether it was there before anybody awaited it, so that a wait for it can be refused and not it.
    pub(super) is_known: bool,
    pub(super) standing: Standing<W>,
    /// The wait in which somebody awaits it; a task has one handle, so that there is one at a time.
    pub(super) awaited_in: Option<WaitKey>,
    /// Its place among all that is awaited in that.
    pub(super) awaited_at: usize,
    /// The waits that it has open itself.
    pub(super) waits: Few<WaitKey>,
    /// How many it awaits in them.
    pub(super) awaits: usize,
    /// Its place among the blocked holders of its agent while it awaits any.
    pub(super) blocked_at: usize,
    /// The slot that it lends to what it awaits, as a pool of one; there from its first wait on.
    pub(super) lends: Option<PoolKey>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) enum Standing<W> {
    /// Known, but not in line yet.
    Coming,
    /// In line.
    Queued(Ticket<W>),
    /// Granted.
    Holding(Holding),
}

/// A place in line.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Ticket<W> {
    pub(super) age: Age,
    pub(super) place: Place,
    /// Where it waits for a slot of its own limit.
    pub(super) queue: QueueKey,
    /// Where it waits for the slot that is lent to it.
    pub(super) lent: Option<QueueKey>,
    pub(super) policy: CapacityPolicy,
    pub(super) waiter: W,
}

/// What was granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    /// The agent that a unit is held of; `None` for a slot alone.
    pub(super) agent: Option<AgentKey>,
    /// The pool that the slot is from; `None` where it was given back before the work ended.
    pub(super) slot: Option<PoolKey>,
    /// Nobody waits for the work any more.
    pub(super) detached: bool,
}

impl<W> Claim<W> {
    pub(super) fn coming(task: Option<TaskId>, pool: PoolKey) -> Self {
        Self {
            task,
            pool,
            is_known: false,
            standing: Standing::Coming,
            awaited_in: None,
            awaited_at: 0,
            waits: Few::default(),
            awaits: 0,
            blocked_at: 0,
            lends: None,
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
