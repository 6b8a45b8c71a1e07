//! The dispatch machine: who gets a lease and a slot, who waits, who is refused.
//!
//! It is pure: no clock, no lock, no I/O. Calls go in; [`Effect`]s come out, in order, for the caller to carry out.
//!
//! **Rules.** A lease (a unit of one agent's capacity) and a slot (a unit of one pool's limit) are granted together, so
//! that whoever waits holds neither. A freed unit goes to the oldest ticket that it can serve, across all
//! requirements. A task lends its slot to what it awaits. The machine is *settled* after each call: no ticket waits that
//! could be granted, none whose agents are gone or unavailable, and none that could never end. That is why a new request
//! that can be granted at once overtakes nobody.
//!
//! **How it stays fast.** A [`Demand`](demand::Demand) keeps the agents that meet one requirement and have a free unit,
//! best first. Tickets for the same demand (or the same preferred agent) and pool wait in one queue; a pool lists the
//! queues that a free agent could serve by the age of their first ticket; `open` lists the pools that have a free slot
//! and such a queue. A grant takes the first of the first. Granting or releasing a unit of an agent touches the demands
//! that this agent meets, never the other agents.
//!
//! **Where.** Here: requests, granting and releasing. `lifecycle`: agents come, go, and take work or none. `claim`: one request, from before it waits until it gives
//! everything back. `requirements`: from a request's skills to its demand. `waiting`: tickets and queues. `lending`: who
//! awaits whom, and the slots that go with it. `wait_graph`: the waits that could never end. `agent`, `demand`, `pool`,
//! `load`: the data.
//!
//! **Invariants.** `free + leased = max` for each agent; `taken ≤ limit` for each pool, but for those who have lost a slot
//! that they were lent; a lent slot is held by nobody but whom the lender awaits; every ticket stands in exactly one
//! queue of its own limit, and in one of the slot that is lent to it, if one is; a queue is listed as ready iff its place
//! has a free unit.

mod agent;
mod claim;
mod demand;
mod few;
mod free;
mod lending;
mod lifecycle;
mod load;
mod pool;
mod refusal;
mod requirements;
#[cfg(test)]
mod tests;
mod wait_graph;
mod waiting;

use std::collections::{BTreeSet, HashMap};

use agent::Agent;
use claim::{Claim, Holding, Standing};
use demand::Demands;
use lending::Wait;
use load::Load;
use pool::{Age, Place, Pool, Queue};
pub use refusal::{Refusal, WaitStep};
use slotmap::{SlotMap, new_key_type};

use convoke_core::{AgentId, CapacityPolicy, SkillId, TaskId};

new_key_type! {
    /// A registered agent.
    pub(crate) struct AgentKey;
    /// A request, from before it waits until it gives back what it was granted.
    pub(crate) struct ClaimKey;
    /// A limit that leases share.
    pub(crate) struct PoolKey;
    /// Somebody who awaits others.
    pub(crate) struct WaitKey;
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

/// A request for capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) want: Want<'a>,
    pub(crate) pool: PoolKey,
    /// Whose it is.
    pub(crate) task: Option<&'a TaskId>,
    /// The claim that it has already, if that is not in line yet.
    pub(crate) claim: Option<ClaimKey>,
    /// The wait in which it is awaited.
    pub(crate) awaited_in: Option<WaitKey>,
}

/// What is asked for, with a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want<'a> {
    /// A unit of an agent.
    Agent { skills: &'a [SkillId], preferred: Option<&'a AgentId>, policy: CapacityPolicy },
    /// Nothing but the slot.
    Slot,
}

/// What a request gets at once.
#[derive(Debug)]
pub(crate) enum Decision {
    Granted(ClaimKey, Option<AgentKey>),
    Queued(ClaimKey),
}

/// What a call brings about for those who wait.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) enum Effect<W> {
    Granted {
        waiter: W,
        claim: ClaimKey,
        agent: Option<AgentKey>,
    },
    Refused {
        waiter: W,
        refusal: Refusal,
    },
    /// Whoever awaits a claim that was there before is told that this could never end; the claim itself goes on.
    Unawaited {
        claim: ClaimKey,
        refusal: Refusal,
    },
}

/// A free unit of an agent, or what stands for one where nobody's is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit(Option<AgentKey>);

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
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Dispatch<W> {
    agents: SlotMap<AgentKey, Agent>,
    by_id: HashMap<AgentId, AgentKey>,
    demands: Demands,
    queues: SlotMap<QueueKey, Queue>,
    /// The queues of those who want nothing but a slot.
    slot_queues: Vec<QueueKey>,
    pools: SlotMap<PoolKey, Pool>,
    /// The pools with a free slot and a queue that is ready, by the age of their first ticket.
    open: BTreeSet<(Age, PoolKey)>,
    claims: SlotMap<ClaimKey, Claim<W>>,
    waits: SlotMap<WaitKey, Wait>,
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
            slot_queues: Vec::new(),
            pools: SlotMap::with_key(),
            open: BTreeSet::new(),
            claims: SlotMap::with_key(),
            waits: SlotMap::with_key(),
            next_age: 0,
            effects: Vec::new(),
        }
    }

    /// What the calls since the last one have brought about, in order.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect<W>> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
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

    /// Makes a claim that is not in line yet, so that it can be awaited before it is.
    pub(crate) fn claim(&mut self, task: Option<TaskId>, pool: PoolKey) -> ClaimKey {
        self.claims.insert(Claim { is_known: true, ..Claim::coming(task, pool) })
    }

    /// Grants, queues or refuses a request; `waiter` is kept if it is queued. A refused one leaves nothing of its own
    /// behind; a claim that it had already stays its owner's.
    pub(crate) fn request(&mut self, ask: Ask<'_>, waiter: impl FnOnce() -> W) -> Result<Decision, Refusal> {
        let place = self.place(ask.want)?;
        let unit = self.best(place);
        let policy = match ask.want {
            Want::Agent { policy, .. } => policy,
            Want::Slot => CapacityPolicy::Wait,
        };
        if unit.is_none() && policy == CapacityPolicy::Reject {
            return Err(self.exhausted(place));
        }
        // One that is in line or granted already has its place: nothing may take it away unseen.
        let known = ask.claim.filter(|&key| self.claims.get(key).is_some_and(Claim::is_coming));
        let key = known.unwrap_or_else(|| self.claims.insert(Claim::coming(ask.task.cloned(), ask.pool)));
        if let Some(wait) = ask.awaited_in {
            self.link(wait, key);
        }
        if let (Some(unit), Some(slot)) = (unit, self.free_slot(key)) {
            self.hold(key, unit, slot);
            return Ok(Decision::Granted(key, unit.0));
        }
        self.enqueue(key, place, policy, waiter());
        let Some(path) = self.endless_wait(key) else { return Ok(Decision::Queued(key)) };
        let refusal = Refusal::WaitCycle { path };
        if known.is_some() {
            self.refuse_wait(key, refusal);
            return Ok(Decision::Queued(key));
        }
        self.unqueue(key);
        self.forget(key);
        Err(refusal)
    }

    /// Ends a wait, or takes away a claim that is not in line yet; `None` if there is no wait to end.
    pub(crate) fn withdraw(&mut self, key: ClaimKey) -> Option<W> {
        if self.claims.get(key)?.holding().is_some() {
            return None;
        }
        let waiter = self.unqueue(key);
        self.forget(key);
        self.grant();
        waiter
    }

    /// Gives a unit and its slot back.
    pub(crate) fn release(&mut self, key: ClaimKey) {
        let Some(claim) = self.claims.get_mut(key) else { return };
        let lends = claim.lends;
        let Some(held) = claim.holding_mut() else { return };
        // Taken out, so that it is not moved as that of work that goes on.
        let holding = Holding { slot: held.slot.take(), ..*held };
        self.forget(key);
        if let Some(agent_key) = holding.agent
            && let Some(agent) = self.agents.get_mut(agent_key)
        {
            agent.detached -= u32::from(holding.detached);
            let (was_free, active) = (agent.is_free(), agent.load.active - 1);
            self.reload(agent_key, was_free, active);
        }
        self.give_back(holding.slot, lends);
        self.grant();
    }

    /// Marks a lease as held by work that nobody waits for any more. It keeps a slot of its own within the limit; one that
    /// it was lent, or that it took beyond the limit, goes back.
    pub(crate) fn detach(&mut self, key: ClaimKey) {
        let Some(holding) = self.claims.get_mut(key).and_then(Claim::holding_mut) else { return };
        if std::mem::replace(&mut holding.detached, true) {
            return;
        }
        let goes_back = |pool: &Pool| pool.is_lent() || pool.is_over();
        let slot = holding.slot.filter(|&slot| self.pools.get(slot).is_some_and(goes_back));
        if slot.is_some() {
            holding.slot = None;
        }
        if let Some(agent) = holding.agent.and_then(|agent| self.agents.get_mut(agent)) {
            agent.detached += 1;
        }
        self.close_waits(key);
        if let Some(slot) = slot {
            self.free_up(slot);
        }
        self.grant();
    }

    /// Gives back the slot of work that nobody waits for any more, and its unit if `with_unit`.
    pub(crate) fn forfeit(&mut self, key: ClaimKey, with_unit: bool) {
        if with_unit {
            return self.release(key);
        }
        // It may wait for others until now, who stand in line for the slot that it lends.
        self.detach(key);
        let Some(claim) = self.claims.get_mut(key) else { return };
        let lends = claim.lends.take();
        let slot = claim.holding_mut().and_then(|holding| holding.slot.take());
        self.give_back(slot, lends);
        self.grant();
    }

    /// The agent that a claim holds a unit of.
    pub(crate) fn agent_of(&self, key: ClaimKey) -> Option<AgentKey> {
        self.claims.get(key)?.holding()?.agent
    }

    pub(crate) fn agent_load(&self, key: AgentKey) -> Option<AgentLoad> {
        let agent = self.agents.get(key)?;
        let by_skills = agent.demands.iter().filter_map(|&demand| self.demands.get(demand));
        let queues = by_skills.flat_map(|demand| &demand.queues).chain(&agent.queues);
        let is_own = |queue: &&Queue| self.pools.get(queue.pool).is_some_and(|pool| !pool.is_lent());
        Some(AgentLoad {
            availability: agent.availability,
            active: agent.load.active,
            detached: agent.detached,
            waiting: queues
                .filter_map(|&queue| self.queues.get(queue))
                .filter(is_own)
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
    fn place(&mut self, want: Want<'_>) -> Result<Place, Refusal> {
        let Want::Agent { skills, preferred, .. } = want else { return Ok(Place::Slot) };
        let Some(id) = preferred else {
            let demand = self.demand(skills);
            return self.refusal(demand).map_or(Ok(Place::Demand(demand)), Err);
        };
        let not_found = || Refusal::AgentNotFound { agent: id.clone() };
        let key = self.find(id.as_str()).ok_or_else(not_found)?;
        let agent = self.agents.get(key).ok_or_else(not_found)?;
        if !skills.iter().all(|skill| agent.skills.contains(skill)) {
            Err(Refusal::CapabilityNotFound { agent: Some(id.clone()), skills: skills.to_vec() })
        } else if agent.is_available() {
            Ok(Place::Agent(key))
        } else {
            Err(Refusal::AgentUnavailable { agent: Some(id.clone()) })
        }
    }

    /// The unit that a place prefers among the free ones.
    fn best(&self, place: Place) -> Option<Unit> {
        match place {
            Place::Demand(demand) => self.demands.get(demand)?.free.best().map(|load| Unit(Some(load.key))),
            Place::Agent(agent) => self.agents.get(agent)?.is_free().then_some(Unit(Some(agent))),
            Place::Slot => Some(Unit(None)),
        }
    }

    fn exhausted(&self, place: Place) -> Refusal {
        let agent = match place {
            Place::Agent(agent) => self.agents.get(agent).map(|agent| agent.load.id.clone()),
            Place::Demand(_) | Place::Slot => None,
        };
        Refusal::CapacityExhausted { agent }
    }

    /// Gives a unit and a slot, both free, to a claim.
    fn hold(&mut self, key: ClaimKey, unit: Unit, slot: PoolKey) {
        if let Some(agent_key) = unit.0
            && let Some(agent) = self.agents.get(agent_key)
        {
            let (was_free, active) = (agent.is_free(), agent.load.active + 1);
            self.reload(agent_key, was_free, active);
        }
        self.change_pool(slot, |pool| pool.taken += 1);
        if let Some(claim) = self.claims.get_mut(key) {
            claim.standing = Standing::Holding(Holding { agent: unit.0, slot: Some(slot), detached: false });
        }
    }

    fn free_up(&mut self, slot: PoolKey) {
        self.change_pool(slot, |pool| pool.taken = pool.taken.saturating_sub(1));
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

    /// Brings the demands that an agent meets up to whether it has a free unit, and to so many units in use from now on.
    fn reload(&mut self, key: AgentKey, was_free: bool, active: u32) {
        let Some(agent) = self.agents.get_mut(key) else { return };
        let before = &agent.load;
        let is_free = agent.is_available() && active < before.max;
        for &demand in &agent.demands {
            let Some(demand) = self.demands.get_mut(demand) else { continue };
            match (was_free, is_free) {
                (true, true) => demand.free.reload(before, active),
                (true, false) => demand.free.remove(before),
                (false, true) => demand.free.insert(Load { active, ..before.clone() }),
                (false, false) => {}
            }
        }
        agent.load.active = active;
        if was_free != is_free {
            self.relist(key);
        }
    }

    /// Grants until no ticket is left that an agent and a slot could serve: the oldest of the oldest first.
    fn grant(&mut self) {
        while let Some(&(_, pool)) = self.open.first() {
            let Some(&(_, queue)) = self.pools.get(pool).and_then(|pool| pool.ready.first()) else { return };
            let Some(queue) = self.queues.get(queue) else { return };
            let (Some(unit), Some(&(_, key))) = (self.best(queue.place), queue.tickets.first()) else {
                return;
            };
            // Whichever slot it was that let it be served: the one that is lent to it goes first.
            let slot = self.free_slot(key).unwrap_or(pool);
            let Some(waiter) = self.unqueue(key) else { return };
            self.hold(key, unit, slot);
            self.effects.push(Effect::Granted { waiter, claim: key, agent: unit.0 });
        }
    }
}
