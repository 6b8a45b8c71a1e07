//! What must hold after each call, whatever the calls were, worked out anew from the claims.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Debug,
};

use convoke_core::CapacityPolicy;

use crate::dispatch::{
    AgentKey, ClaimKey, Dispatch, PoolKey, QueueKey,
    claim::{Claim, Holding, Ticket},
    pool::{Pool, Target},
};

impl<W: Debug> Dispatch<W> {
    pub(crate) fn check(&self) {
        self.check_units();
        self.check_free();
        self.check_slots();
        self.check_waits();
        self.check_tickets();
        self.check_queues();
        self.check_settled();
        assert_eq!(self.ending(), self.claims.keys().collect(), "a wait that cannot end is there");
    }

    /// Claims, waits, queues and pools that are there, those of a host's own limits among the pools.
    pub(crate) fn in_use(&self) -> [usize; 4] {
        [self.claims.len(), self.waits.len(), self.queues.len(), self.pools.len()]
    }

    fn holdings(&self) -> impl Iterator<Item = (ClaimKey, &Claim<W>, Holding)> {
        self.claims.iter().filter_map(|(key, claim)| Some((key, claim, claim.holding()?)))
    }

    fn tickets(&self) -> impl Iterator<Item = (ClaimKey, &Claim<W>, &Ticket<W>)> {
        self.claims.iter().filter_map(|(key, claim)| Some((key, claim, claim.ticket()?)))
    }

    /// free + leased = max, detached work included; who is blocked is listed.
    fn check_units(&self) {
        for (key, agent) in &self.agents {
            let own: Vec<_> = self.holdings().filter(|(.., holding)| holding.agent == Some(key)).collect();
            assert_eq!(agent.load.active as usize, own.len());
            assert!(agent.load.active <= agent.load.max);
            assert_eq!(agent.detached as usize, own.iter().filter(|(.., holding)| holding.detached).count());
            let awaits =
                |claim: &Claim<W>| claim.open_waits.iter().any(|wait| !self.waits[*wait].awaited.is_empty());
            let blocked: BTreeSet<_> =
                own.iter().filter(|(_, claim, _)| awaits(claim)).map(|(key, ..)| *key).collect();
            assert_eq!(agent.blocked.iter().copied().collect::<BTreeSet<_>>(), blocked);
            let indices = agent.blocked.iter().map(|key| self.claims[*key].index_in_blocked);
            assert!(indices.eq(0..agent.blocked.len()));
            assert_eq!(agent.is_listed, agent.is_free());
            assert_eq!(self.by_id[&agent.load.id], key);
        }
        assert!(
            self.holdings().all(|(.., one)| one.agent.is_none_or(|agent| self.agents.contains_key(agent)))
        );
    }

    /// A demand lists who meets it and has a free unit, best first.
    fn check_free(&self) {
        let in_use: BTreeSet<_> =
            self.agents.values().flat_map(|agent| agent.demands.iter().copied()).collect();
        for key in in_use {
            let met = self.agents.values().filter(|agent| agent.demands.contains(&key) && agent.is_free());
            let expected: BTreeSet<_> = met.map(|agent| &agent.load).collect();
            let demand = self.demands.get(key).expect("a demand is gone and still listed");
            assert!(demand.free.iter().eq(expected));
        }
    }

    /// A slot is lent by who has a claim, to one at a time, and only to what the lender awaits; work without a slot is
    /// detached. A limit may be exceeded, by whom `Both` says.
    fn check_slots(&self) {
        let mut lent = HashSet::new();
        for (key, claim) in &self.claims {
            let Some(lent_pool) = claim.lent_pool else { continue };
            assert!(
                claim.holding().is_some()
                    && self.pools[lent_pool].is_lent()
                    && self.pools[lent_pool].limit == 1
            );
            assert!(lent.insert(lent_pool), "{key:?}");
        }
        for (key, pool) in &self.pools {
            let holders: Vec<_> = self.holdings().filter(|(.., one)| one.slot == Some(key)).collect();
            assert_eq!(pool.taken, holders.len());
            assert_eq!(pool.is_lent(), lent.contains(&key), "a lender's pool goes with its claim");
            assert!(!pool.is_lent() || pool.taken <= pool.limit);
        }
        for (key, claim, holding) in self.holdings() {
            let Some(slot) = holding.slot else {
                assert!(holding.detached, "{key:?} goes on without a slot");
                continue;
            };
            // A limit that is closed leaves its slots to those who have them.
            let is_lent = self.pools.get(slot).is_some_and(Pool::is_lent);
            let is_borrower = self.lender_slot(claim) == Some(slot);
            assert!(if is_lent { is_borrower } else { slot == claim.pool }, "{key:?} has the slot {slot:?}");
            assert!(!(holding.detached && is_lent), "{key:?} is detached and keeps what it was lent");
        }
    }

    /// Who awaits and who is awaited know each other; nobody waits who is detached or does not run.
    fn check_waits(&self) {
        for (key, wait) in &self.waits {
            let awaiter = &self.claims[wait.awaiter];
            assert!(
                awaiter.open_waits.get(wait.index) == Some(&key)
                    && awaiter.holding().is_some_and(|holding| !holding.detached)
            );
            assert!(wait.awaited.iter().all(|claim| self.claims[*claim].awaited_in == Some(key)));
            let indices = wait.awaited.iter().map(|claim| self.claims[*claim].index_in_wait);
            assert!(indices.eq(0..wait.awaited.len()));
        }
        for (key, claim) in &self.claims {
            assert!(claim.awaited_in.is_none_or(|wait| self.waits[wait].awaited.contains(&key)));
            assert!(claim.open_waits.iter().all(|wait| self.waits[*wait].awaiter == key));
            assert_eq!(
                claim.awaited_count,
                claim.open_waits.iter().map(|wait| self.waits[*wait].awaited.len()).sum::<usize>()
            );
            assert_eq!(claim.open_waits.iter().collect::<HashSet<_>>().len(), claim.open_waits.len());
        }
    }

    /// Every ticket stands in one queue of its own limit, and in one of the slot that is lent to it, if one is.
    fn check_tickets(&self) {
        let mut memberships = 0;
        for (key, claim, ticket) in self.tickets() {
            let lent = self.lender_slot(claim);
            assert_eq!(ticket.lent_queue.map(|queue| self.queues[queue].pool), lent);
            for (queue, pool) in [(Some(ticket.own_queue), Some(claim.pool)), (ticket.lent_queue, lent)] {
                let (Some(queue), Some(pool)) = (queue, pool) else { continue };
                let queue = &self.queues[queue];
                assert_eq!((queue.target, queue.pool, queue.policy), (ticket.target, pool, ticket.policy));
                assert!(queue.tickets.contains(&(ticket.age, key)));
                memberships += 1;
            }
        }
        assert_eq!(memberships, self.queues.values().map(|queue| queue.tickets.len()).sum::<usize>());
    }

    /// A queue has tickets, is known where it belongs, and is listed as ready iff its target has a free unit.
    fn check_queues(&self) {
        let mut ready: HashSet<(PoolKey, u64, QueueKey)> = HashSet::new();
        for (key, queue) in &self.queues {
            let (head, _) = queue.tickets.first().expect("an empty queue stays");
            assert!(self.queues_of(queue.target).contains(&key));
            let listed = Some(*head).filter(|_| self.best(queue.target).is_some());
            assert_eq!(queue.listed, listed);
            ready.extend(listed.map(|age| (queue.pool, age, key)));
        }
        let listed = |(pool, one): (PoolKey, &Pool)| {
            one.ready.iter().map(|&(age, queue)| (pool, age, queue)).collect::<Vec<_>>()
        };
        assert_eq!(self.pools.iter().flat_map(listed).collect::<HashSet<_>>(), ready);
        for (key, pool) in &self.pools {
            let waiting = self.queues.values().filter(|queue| queue.pool == key);
            assert_eq!(pool.waiting, waiting.map(|queue| queue.tickets.len()).sum::<usize>());
        }
        let by_agent = self.agents.values().flat_map(|agent| &agent.queues);
        let known = by_agent.chain(&self.slot_queues).filter(|&&queue| !self.queues.contains_key(queue));
        assert_eq!(known.count(), 0, "a queue is gone and still listed");
    }

    /// No ticket waits that could be granted, or that does not wait for capacity and finds none.
    fn check_settled(&self) {
        assert_eq!(self.open, BTreeSet::new());
        for (key, _, ticket) in self.tickets() {
            let has_unit = self.best(ticket.target).is_some();
            assert!(!(has_unit && self.free_slot(key).is_some()), "{ticket:?} could be granted");
            assert!(has_unit || ticket.policy == CapacityPolicy::Wait, "{ticket:?} does not wait for this");
        }
    }

    /// Who can end: the least set that the rules give, by rounds over all claims.
    fn ending(&self) -> HashSet<ClaimKey> {
        let mut ends = HashSet::new();
        loop {
            let next: HashSet<_> = self
                .claims
                .iter()
                .filter(|(_, claim)| self.can_end(claim, &ends))
                .map(|(key, _)| key)
                .collect();
            if next == ends {
                return ends;
            }
            ends = next;
        }
    }

    fn can_end(&self, claim: &Claim<W>, ends: &HashSet<ClaimKey>) -> bool {
        let Some(ticket) = claim.ticket() else {
            let awaited = claim.open_waits.iter().flat_map(|wait| self.waits[*wait].awaited.iter());
            return awaited.into_iter().all(|one| ends.contains(one));
        };
        let serves = |agent: AgentKey| {
            let one = &self.agents[agent];
            let holders = || self.holdings().filter(move |(.., holding)| holding.agent == Some(agent));
            one.is_available()
                && (one.load.active < one.load.max || holders().any(|(key, ..)| ends.contains(&key)))
        };
        match ticket.target {
            Target::SlotAlone => true,
            Target::Agent(agent) => serves(agent),
            Target::AnyWith(demand) => {
                let skills = self.demands.get(demand).unwrap().skills();
                let has_all =
                    |agent: &AgentKey| skills.iter().all(|one| self.agents[*agent].skills.contains(one));
                self.agents.keys().filter(has_all).any(serves)
            }
        }
    }
}
