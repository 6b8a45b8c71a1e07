//! Who waits: tickets in queues, and queues listed as ready in their pools.

use std::collections::BTreeSet;

use convoke_core::CapacityPolicy;

use super::{
    AgentKey, Ask, Dispatch, Effect, QueueKey, Refusal, Ticket, TicketKey,
    demand::Demand,
    pool::{Place, Queue},
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
            let agent = match place {
                Place::Agent(agent) => self.agents.get(agent).map(|agent| agent.id.clone()),
                Place::Demand(_) => None,
            };
            self.refuse(key, &Refusal::CapacityExhausted { agent });
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

    pub(super) fn enqueue(&mut self, place: Place, ask: Ask<'_>, waiter: W) -> TicketKey {
        let found = self.queues_of(place).iter().copied().find(|&queue| {
            self.queues.get(queue).is_some_and(|queue| queue.pool == ask.pool && queue.policy == ask.policy)
        });
        let queue = found.unwrap_or_else(|| {
            let (pool, policy) = (ask.pool, ask.policy);
            let key =
                self.queues.insert(Queue { place, pool, policy, tickets: BTreeSet::new(), listed: None });
            self.with_queues_of(place, |queues| queues.push(key));
            key
        });
        let age = self.next_age;
        self.next_age += 1;
        let ticket = self.tickets.insert(Ticket { age, queue, waiter });
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.tickets.insert((age, ticket));
        }
        if let Some(pool) = self.pools.get_mut(ask.pool) {
            pool.waiting += 1;
        }
        self.list(queue);
        ticket
    }

    /// Takes a ticket out of its queue, and the queue away if it was the last.
    pub(super) fn unqueue(&mut self, key: TicketKey) -> Option<W> {
        let ticket = self.tickets.remove(key)?;
        if let Some(queue) = self.queues.get_mut(ticket.queue) {
            queue.tickets.remove(&(ticket.age, key));
            let (place, empty) = (queue.place, queue.tickets.is_empty());
            if let Some(pool) = self.pools.get_mut(queue.pool) {
                pool.waiting -= 1;
            }
            if empty {
                self.close_queue(ticket.queue, place);
            } else {
                self.list(ticket.queue);
            }
        }
        Some(ticket.waiter)
    }

    pub(super) fn queues_of(&self, place: Place) -> &[QueueKey] {
        match place {
            Place::Demand(demand) => self.demands.get(demand).map_or(&[], |demand| &demand.queues),
            Place::Agent(agent) => self.agents.get(agent).map_or(&[], |agent| &agent.queues),
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
        }
    }

    /// Refuses all who wait in a queue, oldest first.
    pub(super) fn refuse(&mut self, key: QueueKey, refusal: &Refusal) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        let tickets = std::mem::take(&mut queue.tickets);
        let (place, pool) = (queue.place, queue.pool);
        self.close_queue(key, place);
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.waiting -= tickets.len();
        }
        for (_, ticket) in tickets {
            if let Some(ticket) = self.tickets.remove(ticket) {
                self.effects.push(Effect::Refused { waiter: ticket.waiter, refusal: refusal.clone() });
            }
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
