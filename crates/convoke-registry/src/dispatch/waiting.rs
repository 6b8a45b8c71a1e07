//! Who waits: tickets in queues, and queues listed as ready in their pools.

use std::{collections::BTreeSet, mem};

use convoke_core::CapacityPolicy;

use super::{
    AgentKey, ClaimKey, Dispatch, Effect, PoolKey, QueueKey, Refusal,
    claim::{Claim, Standing, Ticket},
    demand::Demand,
    pool::{Age, Place, Queue},
};

impl<W> Dispatch<W> {
    /// Brings the queues that wait for an agent, by skills or by name, up to whether a free unit could serve them.
    pub(super) fn relist(&mut self, key: AgentKey) {
        let Some(agent) = self.agents.get(key) else { return };
        let by_skills = agent.demands.iter().filter_map(|&demand| self.demands.get(demand));
        // Most demands have no queue, so that this allocates only where somebody waits.
        let queues: Vec<QueueKey> =
            by_skills.flat_map(|demand| &demand.queues).chain(&agent.queues).copied().collect();
        for queue in queues {
            self.list(queue);
        }
    }

    /// Lists a queue as ready, or not, as its place and its first ticket say. A queue that does not wait for capacity
    /// and finds none is refused.
    pub(super) fn list(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key) else { return };
        let (place, pool, listed) = (queue.place, queue.pool, queue.listed);
        let free = self.best(place).is_some();
        if !free && queue.policy == CapacityPolicy::Reject && !queue.tickets.is_empty() {
            self.refuse(key, &self.exhausted(place));
            return;
        }
        let age = queue.tickets.first().map(|(age, _)| *age).filter(|_| free);
        if age == listed {
            return;
        }
        if let Some(queue) = self.queues.get_mut(key) {
            queue.listed = age;
        }
        self.change_pool(pool, |pool| {
            if let Some(age) = listed {
                pool.ready.remove(&(age, key));
            }
            if let Some(age) = age {
                pool.ready.insert((age, key));
            }
        });
    }

    pub(super) fn enqueue(&mut self, key: ClaimKey, place: Place, policy: CapacityPolicy, waiter: W) {
        let age = self.next_age;
        self.next_age += 1;
        let Some(pool) = self.claims.get(key).map(|claim| claim.pool) else { return };
        let queue = self.queue_at(place, pool, policy);
        if let Some(claim) = self.claims.get_mut(key) {
            claim.standing = Standing::Queued(Ticket { age, place, queue, lent: None, policy, waiter });
        }
        self.join(queue, age, key);
        self.queue_for_lent(key);
    }

    /// Puts a ticket in line for the slot that is lent to it, if one is and it is not there yet.
    pub(super) fn queue_for_lent(&mut self, key: ClaimKey) {
        let Some(claim) = self.claims.get(key) else { return };
        let (Some(ticket), Some(pool)) = (claim.ticket(), self.lent_to(claim)) else { return };
        let (age, place, policy) = (ticket.age, ticket.place, ticket.policy);
        if ticket.lent.is_some() {
            return;
        }
        let queue = self.queue_at(place, pool, policy);
        if let Some(ticket) = self.claims.get_mut(key).and_then(Claim::ticket_mut) {
            ticket.lent = Some(queue);
        }
        self.join(queue, age, key);
    }

    /// The queue of a place and a pool, made if there is none.
    fn queue_at(&mut self, place: Place, pool: PoolKey, policy: CapacityPolicy) -> QueueKey {
        let found = self.queues_of(place).iter().copied().find(|&queue| {
            self.queues.get(queue).is_some_and(|queue| queue.pool == pool && queue.policy == policy)
        });
        found.unwrap_or_else(|| {
            let key =
                self.queues.insert(Queue { place, pool, policy, tickets: BTreeSet::new(), listed: None });
            self.with_queues_of(place, |queues| queues.push(key));
            key
        })
    }

    fn join(&mut self, key: QueueKey, age: Age, claim: ClaimKey) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.tickets.insert((age, claim));
        if let Some(pool) = self.pools.get_mut(queue.pool) {
            pool.waiting += 1;
        }
        self.list(key);
    }

    /// Takes a ticket out of a queue, and the queue away if it was the last.
    pub(super) fn leave(&mut self, key: QueueKey, age: Age, claim: ClaimKey) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if !queue.tickets.remove(&(age, claim)) {
            return;
        }
        let (place, empty) = (queue.place, queue.tickets.is_empty());
        if let Some(pool) = self.pools.get_mut(queue.pool) {
            pool.waiting -= 1;
        }
        if empty {
            self.close_queue(key, place);
        } else {
            self.list(key);
        }
    }

    /// Takes a claim out of line.
    pub(super) fn unqueue(&mut self, key: ClaimKey) -> Option<W> {
        let claim = self.claims.get_mut(key)?;
        match mem::replace(&mut claim.standing, Standing::Coming) {
            Standing::Queued(ticket) => {
                for queue in [Some(ticket.queue), ticket.lent].into_iter().flatten() {
                    self.leave(queue, ticket.age, key);
                }
                Some(ticket.waiter)
            }
            other => {
                claim.standing = other;
                None
            }
        }
    }

    pub(super) fn queues_of(&self, place: Place) -> &[QueueKey] {
        match place {
            Place::Demand(demand) => self.demands.get(demand).map_or(&[], |demand| &demand.queues),
            Place::Agent(agent) => self.agents.get(agent).map_or(&[], |agent| &agent.queues),
            Place::Slot => &self.slot_queues,
        }
    }

    pub(super) fn with_queues_of(&mut self, place: Place, change: impl FnOnce(&mut Vec<QueueKey>)) {
        match place {
            Place::Demand(key) => {
                if let Some(demand) = self.demands.get_mut(key) {
                    change(&mut demand.queues);
                    self.demands.queues_changed(key);
                }
            }
            Place::Agent(agent) => {
                if let Some(agent) = self.agents.get_mut(agent) {
                    change(&mut agent.queues);
                }
            }
            Place::Slot => change(&mut self.slot_queues),
        }
    }

    /// Refuses all who wait in a queue, oldest first.
    pub(super) fn refuse(&mut self, key: QueueKey, refusal: &Refusal) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        // Out of the queue first: leaving one by one would list it again each time.
        let tickets = mem::take(&mut queue.tickets);
        let (place, pool) = (queue.place, queue.pool);
        self.close_queue(key, place);
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.waiting -= tickets.len();
        }
        for (_, claim) in tickets {
            self.refuse_one(claim, refusal.clone());
        }
    }

    /// Refuses one who waits, and forgets its claim.
    pub(super) fn refuse_one(&mut self, key: ClaimKey, refusal: Refusal) {
        if let Some(waiter) = self.unqueue(key) {
            self.forget(key);
            self.effects.push(Effect::Refused { waiter, refusal });
        }
    }

    /// Takes an empty queue away, and the demand with it if nobody can meet it any more.
    pub(super) fn close_queue(&mut self, key: QueueKey, place: Place) {
        self.list(key);
        self.queues.remove(key);
        self.with_queues_of(place, |queues| queues.retain(|&other| other != key));
        if let Place::Demand(demand) = place
            && self.demands.get(demand).is_some_and(Demand::is_idle_and_unmet)
        {
            self.retire(demand);
        }
        self.retire_surplus();
    }
}
