//! The dispatch machine: who gets a lease and a slot, who waits, who is refused.
//!
//! It is pure: no clock, no lock, no I/O. Calls go in; [`Effect`]s come out, in order, for the caller to carry out.
//!
//! **Rules.** A lease (a unit of one agent's capacity) and a slot (a unit of one pool's limit) are granted together, so
//! that whoever waits holds neither. A freed unit goes to the oldest ticket that it can serve, across all
//! requirements. The machine is *settled* after each call: no ticket waits that could be granted, and none waits whose
//! agents are gone or unavailable. That is why a new request that can be granted at once overtakes nobody.
//!
//! **How it stays fast.** A [`Demand`](demand::Demand) keeps the agents that meet one requirement and have a free unit,
//! best first. Tickets for the same demand (or the same preferred agent) and pool wait in one queue; a pool lists the
//! queues that a free agent could serve by the age of their first ticket; `open` lists the pools that have a free slot
//! and such a queue. A grant takes the first of the first. Granting or releasing a unit of an agent touches the demands
//! that this agent meets, never the other agents.
//!
//! **Where.** Here: what callers call, granting and releasing. `requirements`: from a request's skills to its demand.
//! `waiting`: tickets and queues. `demand`, `pool`, `load`: the data.
//!
//! **Invariants.** `free + leased = max` for each agent, `taken ≤ limit` for each pool; every ticket stands in exactly
//! one queue; a queue is listed as ready iff its place has a free unit.

mod demand;
mod load;
mod pool;
mod refusal;
mod requirements;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::{BTreeSet, HashMap, HashSet};

use demand::{Candidate, Demands};
use load::Load;
use pool::{Age, Place, Pool, Queue};

use convoke_core::{AgentId, CapacityPolicy, SkillId};
pub use refusal::Refusal;
use slotmap::{SlotMap, new_key_type};

new_key_type! {
    /// A registered agent.
    pub(crate) struct AgentKey;
    /// A granted lease with its slot.
    pub(crate) struct LeaseKey;
    /// A limit that leases share.
    pub(crate) struct PoolKey;
    /// A request that waits.
    pub(crate) struct TicketKey;
    struct DemandKey;
    struct QueueKey;
}

/// Whether an agent takes new work. Any state can follow any other; running leases are untouched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Availability {
    /// Takes new work.
    #[default]
    Available,
    /// Finishes what it has and takes nothing new.
    Draining,
    /// Takes nothing.
    Offline,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) skills: &'a [SkillId],
    pub(crate) preferred: Option<&'a AgentId>,
    pub(crate) policy: CapacityPolicy,
    pub(crate) pool: PoolKey,
}

/// What a request gets at once.
#[derive(Debug)]
pub(crate) enum Decision {
    Granted(LeaseKey, AgentKey),
    Queued(TicketKey),
}

/// What a call brings about for those who wait.
#[derive(Debug)]
pub(crate) enum Effect<W> {
    Granted { waiter: W, lease: LeaseKey, agent: AgentKey },
    Refused { waiter: W, refusal: Refusal },
}

#[derive(Debug)]
struct Agent {
    id: AgentId,
    skills: HashSet<SkillId>,
    max: u32,
    active: u32,
    detached: u32,
    availability: Availability,
    /// The demands in use that it meets.
    demands: Vec<DemandKey>,
    /// Who waits for it by name.
    queues: Vec<QueueKey>,
}

impl Agent {
    fn is_available(&self) -> bool {
        self.availability == Availability::Available
    }

    fn free(&self, key: AgentKey) -> Option<Load> {
        let free = self.is_available() && self.active < self.max;
        free.then(|| Load { active: self.active, max: self.max, id: self.id.clone(), key })
    }

    fn candidate(&self, key: AgentKey) -> Candidate<'_> {
        Candidate { key, skills: &self.skills, available: self.is_available(), free: self.free(key) }
    }
}

#[derive(Debug)]
struct Lease {
    agent: AgentKey,
    pool: PoolKey,
    detached: bool,
}

#[derive(Debug)]
struct Ticket<W> {
    age: Age,
    queue: QueueKey,
    waiter: W,
}

/// What one agent has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentLoad {
    pub(crate) availability: Availability,
    pub(crate) active: u32,
    pub(crate) detached: u32,
    pub(crate) waiting: usize,
}

/// What one pool has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolLoad {
    pub(crate) taken: usize,
    pub(crate) waiting: usize,
}

/// The machine. `W` is whatever the caller needs to reach who waits.
#[derive(Debug)]
pub(crate) struct Dispatch<W> {
    agents: SlotMap<AgentKey, Agent>,
    by_id: HashMap<AgentId, AgentKey>,
    demands: Demands,
    queues: SlotMap<QueueKey, Queue>,
    pools: SlotMap<PoolKey, Pool>,
    /// The pools with a free slot and a queue that is ready, by the age of their first ticket.
    open: BTreeSet<(Age, PoolKey)>,
    leases: SlotMap<LeaseKey, Lease>,
    tickets: SlotMap<TicketKey, Ticket<W>>,
    next_age: Age,
    effects: Vec<Effect<W>>,
}

impl<W> Dispatch<W> {
    pub(crate) fn new() -> Self {
        Self {
            agents: SlotMap::with_key(),
            by_id: HashMap::new(),
            demands: Demands::default(),
            queues: SlotMap::with_key(),
            pools: SlotMap::with_key(),
            open: BTreeSet::new(),
            leases: SlotMap::with_key(),
            tickets: SlotMap::with_key(),
            next_age: 0,
            effects: Vec::new(),
        }
    }

    /// What the calls since the last one have brought about, in order.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect<W>> {
        std::mem::take(&mut self.effects)
    }

    /// Adds an agent; `None` if its id is taken.
    pub(crate) fn register(&mut self, id: AgentId, skills: HashSet<SkillId>, max: u32) -> Option<AgentKey> {
        if self.by_id.contains_key(&id) {
            return None;
        }
        let key = self.agents.insert(Agent {
            id: id.clone(),
            skills,
            max,
            active: 0,
            detached: 0,
            availability: Availability::Available,
            demands: Vec::new(),
            queues: Vec::new(),
        });
        self.by_id.insert(id, key);
        if let Some(agent) = self.agents.get_mut(key) {
            agent.demands = self.demands.add_agent(&agent.candidate(key));
        }
        self.relist(key);
        self.grant();
        Some(key)
    }

    pub(crate) fn find(&self, id: &str) -> Option<AgentKey> {
        self.by_id.get(id).copied()
    }

    /// Removes an agent that holds no lease; says whether it did.
    pub(crate) fn remove(&mut self, key: AgentKey) -> bool {
        if self.agents.get(key).is_none_or(|agent| agent.active > 0) {
            return false;
        }
        let Some(agent) = self.agents.remove(key) else { return false };
        self.by_id.remove(&agent.id);
        self.demands.remove_agent(&agent.candidate(key), &agent.demands);
        for queue in agent.queues {
            self.refuse(queue, &Refusal::AgentNotFound { agent: agent.id.clone() });
        }
        for demand in agent.demands {
            self.recheck(demand);
            for queue in self.queues_of(Place::Demand(demand)).to_vec() {
                self.list(queue);
            }
        }
        true
    }

    /// Sets whether an agent takes new work.
    pub(crate) fn set_availability(&mut self, key: AgentKey, availability: Availability) {
        let Some(agent) = self.agents.get_mut(key) else { return };
        let (was, load) = (agent.is_available(), agent.free(key));
        agent.availability = availability;
        let is = agent.is_available();
        if was == is {
            return;
        }
        let (agent_id, demands, queues) = (agent.id.clone(), agent.demands.clone(), agent.queues.clone());
        for &demand in &demands {
            if let Some(demand) = self.demands.get_mut(demand) {
                demand.available = demand.available + usize::from(is) - usize::from(was);
            }
        }
        if !is {
            // Before the agent leaves the free ones: who loses the last agent hears that, not that it is full.
            let refusal = Refusal::AgentUnavailable { agent: Some(agent_id) };
            for queue in queues {
                self.refuse(queue, &refusal);
            }
            for demand in demands {
                self.recheck(demand);
            }
        }
        self.reload(key, load.as_ref());
        self.grant();
    }

    /// Makes a limit of `limit` slots.
    pub(crate) fn open_pool(&mut self, limit: usize) -> PoolKey {
        self.pools.insert(Pool::new(limit))
    }

    /// Takes away a pool that nobody waits for; leases from it go on and are released like any other.
    pub(crate) fn close_pool(&mut self, key: PoolKey) {
        if let Some(age) = self.pools.remove(key).and_then(|pool| pool.next()) {
            self.open.remove(&(age, key));
        }
    }

    /// Grants, queues or refuses a request; `waiter` is kept if it is queued.
    pub(crate) fn request(&mut self, ask: Ask<'_>, waiter: impl FnOnce() -> W) -> Result<Decision, Refusal> {
        let place = self.place(ask)?;
        let best = self.best(place);
        let slot = self.pools.get(ask.pool).is_some_and(|pool| pool.taken < pool.limit);
        if let (Some(agent), true) = (best, slot) {
            return Ok(Decision::Granted(self.lease(agent, ask.pool), agent));
        }
        if best.is_none() && ask.policy == CapacityPolicy::Reject {
            return Err(Refusal::CapacityExhausted { agent: ask.preferred.cloned() });
        }
        Ok(Decision::Queued(self.enqueue(place, ask, waiter())))
    }

    /// Ends a wait; `None` if it is over already.
    pub(crate) fn withdraw(&mut self, ticket: TicketKey) -> Option<W> {
        let waiter = self.unqueue(ticket)?;
        self.grant();
        Some(waiter)
    }

    /// Gives a unit and its slot back.
    pub(crate) fn release(&mut self, lease: LeaseKey) {
        let Some(lease) = self.leases.remove(lease) else { return };
        if let Some(agent) = self.agents.get_mut(lease.agent) {
            let load = agent.free(lease.agent);
            agent.active -= 1;
            agent.detached -= u32::from(lease.detached);
            self.reload(lease.agent, load.as_ref());
        }
        self.take_slot(lease.pool, |taken| taken.saturating_sub(1));
        self.grant();
    }

    /// Marks a lease as held by work that nobody waits for any more.
    pub(crate) fn detach(&mut self, lease: LeaseKey) {
        if let Some(lease) = self.leases.get_mut(lease)
            && let Some(agent) = self.agents.get_mut(lease.agent)
            && !std::mem::replace(&mut lease.detached, true)
        {
            agent.detached += 1;
        }
    }

    pub(crate) fn agent_load(&self, key: AgentKey) -> Option<AgentLoad> {
        let agent = self.agents.get(key)?;
        let by_skills = agent.demands.iter().filter_map(|&demand| self.demands.get(demand));
        let queues = by_skills.flat_map(|demand| &demand.queues).chain(&agent.queues);
        Some(AgentLoad {
            availability: agent.availability,
            active: agent.active,
            detached: agent.detached,
            waiting: queues
                .filter_map(|&queue| self.queues.get(queue))
                .map(|queue| queue.tickets.len())
                .sum(),
        })
    }

    pub(crate) fn pool_load(&self, key: PoolKey) -> PoolLoad {
        self.pools.get(key).map_or(PoolLoad { taken: 0, waiting: 0 }, |pool| PoolLoad {
            taken: pool.taken,
            waiting: pool.waiting,
        })
    }

    /// Where a request belongs, or why it belongs nowhere. The order of the checks is part of the contract.
    fn place(&mut self, ask: Ask<'_>) -> Result<Place, Refusal> {
        let Some(id) = ask.preferred else {
            let demand = self.demand(ask.skills);
            return self.refusal(demand).map_or(Ok(Place::Demand(demand)), Err);
        };
        let not_found = || Refusal::AgentNotFound { agent: id.clone() };
        let key = self.find(id.as_str()).ok_or_else(not_found)?;
        let agent = self.agents.get(key).ok_or_else(not_found)?;
        if !ask.skills.iter().all(|skill| agent.skills.contains(skill)) {
            Err(Refusal::CapabilityNotFound { agent: Some(id.clone()), skills: ask.skills.to_vec() })
        } else if agent.is_available() {
            Ok(Place::Agent(key))
        } else {
            Err(Refusal::AgentUnavailable { agent: Some(id.clone()) })
        }
    }

    /// The agent that a place prefers among those with a free unit.
    fn best(&self, place: Place) -> Option<AgentKey> {
        match place {
            Place::Demand(demand) => self.demands.get(demand)?.free.first().map(|load| load.key),
            Place::Agent(agent) => self.agents.get(agent)?.free(agent).map(|load| load.key),
        }
    }

    fn lease(&mut self, key: AgentKey, pool: PoolKey) -> LeaseKey {
        if let Some(agent) = self.agents.get_mut(key) {
            let load = agent.free(key);
            agent.active += 1;
            self.reload(key, load.as_ref());
        }
        self.take_slot(pool, |taken| taken + 1);
        self.leases.insert(Lease { agent: key, pool, detached: false })
    }

    fn take_slot(&mut self, key: PoolKey, change: impl FnOnce(usize) -> usize) {
        self.change_pool(key, |pool| pool.taken = change(pool.taken));
    }

    /// Changes a pool and keeps its place in `open` right.
    fn change_pool(&mut self, key: PoolKey, change: impl FnOnce(&mut Pool)) {
        let Some(pool) = self.pools.get_mut(key) else { return };
        let before = pool.next();
        change(pool);
        let after = pool.next();
        if before != after {
            if let Some(age) = before {
                self.open.remove(&(age, key));
            }
            if let Some(age) = after {
                self.open.insert((age, key));
            }
        }
    }

    /// Moves an agent to its new place in the demands that it meets, after its load was `before`.
    fn reload(&mut self, key: AgentKey, before: Option<&Load>) {
        let Some(agent) = self.agents.get(key) else { return };
        let after = agent.free(key);
        let flips = before.is_some() != after.is_some();
        for &demand in &agent.demands {
            let Some(demand) = self.demands.get_mut(demand) else { continue };
            if let Some(load) = before {
                demand.free.remove(load);
            }
            demand.free.extend(after.clone());
        }
        if flips {
            self.relist(key);
        }
    }

    /// Grants until no ticket is left that an agent and a slot could serve: the oldest of the oldest first.
    fn grant(&mut self) {
        while let Some(&(_, pool_key)) = self.open.first() {
            let Some(pool) = self.pools.get(pool_key) else { return };
            let Some(&(_, queue)) = pool.ready.first() else { return };
            let Some(queue) = self.queues.get(queue) else { return };
            let (Some(agent), Some(&(_, ticket))) = (self.best(queue.place), queue.tickets.first()) else {
                return;
            };
            let Some(waiter) = self.unqueue(ticket) else { return };
            let lease = self.lease(agent, pool_key);
            self.effects.push(Effect::Granted { waiter, lease, agent });
        }
    }
}
