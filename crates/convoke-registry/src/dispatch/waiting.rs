//! Who is in line: tickets in queues, and queues listed as ready in their pools.

use std::{collections::BTreeSet, mem};

use convoke_core::CapacityPolicy;

use super::{
    AgentKey, ClaimKey, Dispatch, Effect, PoolKey, QueueKey, Refusal,
    claim::{Claim, Standing, Ticket},
    pool::{Age, Queue, Target},
};

impl<W> Dispatch<W> {
    /// Brings all queues of those in line for an agent, by skills or by name, up to whether it has a free unit.
    pub(super) fn refresh_queues_of(&mut self, key: AgentKey) {
        let Some(agent) = self.agents.get(key) else { return };
        let by_skills = agent.demands.iter().filter_map(|&demand| self.demands.get(demand));
        // Most demands have no queue, so that this allocates only where somebody is in line.
        let queues: Vec<QueueKey> =
            by_skills.flat_map(|demand| &demand.queues).chain(&agent.queues).copied().collect();
        for queue in queues {
            self.refresh_queue(queue);
        }
    }

    /// Lists a queue as ready, or no longer, as its target and its first ticket say. One of requests that do not wait for
    /// an agent is refused where its last free unit is gone.
    pub(super) fn refresh_queue(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key) else { return };
        let (target, pool, listed) = (queue.target, queue.pool, queue.listed);
        let free = self.best(target).is_some();
        if !free && queue.policy == CapacityPolicy::Reject && !queue.tickets.is_empty() {
            self.refuse_queue(key, &self.exhausted(target));
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

    pub(super) fn enqueue(&mut self, key: ClaimKey, target: Target, policy: CapacityPolicy, waiter: W) {
        let age = self.next_age;
        self.next_age += 1;
        let Some(pool) = self.claims.get(key).map(|claim| claim.pool) else { return };
        let queue = self.queue_at(target, pool, policy);
        if let Some(claim) = self.claims.get_mut(key) {
            claim.standing =
                Standing::Queued(Ticket { age, target, own_queue: queue, lent_queue: None, policy, waiter });
        }
        self.join(queue, age, key);
        self.queue_for_lent(key);
    }

    /// Puts a ticket in line for the slot that is lent to it, if one is and it is not there yet.
    pub(super) fn queue_for_lent(&mut self, key: ClaimKey) {
        let Some(claim) = self.claims.get(key) else { return };
        let (Some(ticket), Some(pool)) = (claim.ticket(), self.lender_slot(claim)) else { return };
        let (age, target, policy) = (ticket.age, ticket.target, ticket.policy);
        if ticket.lent_queue.is_some() {
            return;
        }
        let queue = self.queue_at(target, pool, policy);
        if let Some(ticket) = self.claims.get_mut(key).and_then(Claim::ticket_mut) {
            ticket.lent_queue = Some(queue);
        }
        self.join(queue, age, key);
    }

    /// The queue of a target, a pool and a policy, made if there is none.
    fn queue_at(&mut self, target: Target, pool: PoolKey, policy: CapacityPolicy) -> QueueKey {
        let found = self.queues_of(target).iter().copied().find(|&queue| {
            self.queues.get(queue).is_some_and(|queue| queue.pool == pool && queue.policy == policy)
        });
        found.unwrap_or_else(|| {
            let key =
                self.queues.insert(Queue { target, pool, policy, tickets: BTreeSet::new(), listed: None });
            self.with_queues_of(target, |queues| queues.push(key));
            key
        })
    }

    fn join(&mut self, key: QueueKey, age: Age, claim: ClaimKey) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.tickets.insert((age, claim));
        if let Some(pool) = self.pools.get_mut(queue.pool) {
            pool.waiting += 1;
        }
        self.refresh_queue(key);
    }

    /// Takes a ticket out of a queue, and the queue away if it was the last.
    pub(super) fn leave(&mut self, key: QueueKey, age: Age, claim: ClaimKey) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if !queue.tickets.remove(&(age, claim)) {
            return;
        }
        let (target, empty) = (queue.target, queue.tickets.is_empty());
        if let Some(pool) = self.pools.get_mut(queue.pool) {
            pool.waiting -= 1;
        }
        if empty {
            self.close_queue(key, target);
        } else {
            self.refresh_queue(key);
        }
    }

    /// Takes a claim out of line.
    pub(super) fn unqueue(&mut self, key: ClaimKey) -> Option<W> {
        let claim = self.claims.get_mut(key)?;
        match mem::replace(&mut claim.standing, Standing::Coming) {
            Standing::Queued(ticket) => {
                for queue in [Some(ticket.own_queue), ticket.lent_queue].into_iter().flatten() {
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

    pub(super) fn queues_of(&self, target: Target) -> &[QueueKey] {
        match target {
            Target::AnyWith(demand) => self.demands.get(demand).map_or(&[], |demand| &demand.queues),
            Target::Agent(agent) => self.agents.get(agent).map_or(&[], |agent| &agent.queues),
            Target::SlotAlone => &self.slot_queues,
        }
    }

    pub(super) fn with_queues_of(&mut self, target: Target, change: impl FnOnce(&mut Vec<QueueKey>)) {
        match target {
            Target::AnyWith(key) => {
                if let Some(demand) = self.demands.get_mut(key) {
                    change(&mut demand.queues);
                    self.demands.queues_changed(key);
                }
            }
            Target::Agent(agent) => {
                if let Some(agent) = self.agents.get_mut(agent) {
                    change(&mut agent.queues);
                }
            }
            Target::SlotAlone => change(&mut self.slot_queues),
        }
    }

    /// Refuses all who are in a queue, oldest first.
    pub(super) fn refuse_queue(&mut self, key: QueueKey, refusal: &Refusal) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        // Out of the queue first: leaving one by one would refresh it each time.
        let tickets = mem::take(&mut queue.tickets);
        let (target, pool) = (queue.target, queue.pool);
        self.close_queue(key, target);
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.waiting -= tickets.len();
        }
        for (_, claim) in tickets {
            self.refuse_claim(claim, refusal.clone());
        }
    }

    /// Refuses one who is in line, and forgets its claim.
    pub(super) fn refuse_claim(&mut self, key: ClaimKey, refusal: Refusal) {
        if let Some(waiter) = self.unqueue(key) {
            self.forget(key);
            self.effects.push(Effect::Refused { waiter, refusal });
        }
    }

    /// Takes an empty queue away, and the demand with it if nobody can meet it any more.
    pub(super) fn close_queue(&mut self, key: QueueKey, target: Target) {
        // Empty, so that this takes it off its pool.
        self.refresh_queue(key);
        self.queues.remove(key);
        self.with_queues_of(target, |queues| queues.retain(|&other| other != key));
        if let Target::AnyWith(demand) = target {
            self.retire_if_unmet(demand);
        }
        self.retire_surplus();
    }
}
