//! The dispatch machine: who gets a lease and a slot, who is in line, who is refused.
//!
//! It is pure: no clock, no lock, no I/O. Calls go in; [`Effect`]s come out, in order, for the caller to carry out. In
//! prose: `docs/concepts/capacity.md`. Once more, without any index: `tests/reference.rs`.
//!
//! **Words.**
//! - *lease*: a unit of one agent's capacity. *pool*: a limit on what runs, and its *slots*, which are all alike; the slot
//!   that a task lends is a pool of one.
//! - *demand*: a set of required skills in use.
//! - *claim*: one request, from before it is in line until it has given back what it got: coming, queued or holding.
//! - *ticket*: what a queued claim has. *target*: what a ticket is in line for: any agent that meets a demand, one agent by
//!   name, or a slot alone.
//! - *queue*: the tickets of one target, pool and policy, oldest first. It is *ready* while its target has a free unit.
//! - *detached*: work that goes on though nobody awaits it any more; if it may never end, its slot can be *forfeited*.
//! - *host*: the program around the team, which takes leases too, without a task.
//!
//! **Rules.** A unit and a slot are granted together, so that whoever is in line holds neither. A freed unit goes to the
//! oldest ticket that it can serve, across all demands. A task lends its slot to what it awaits, within its own limit.
//! `Reject` is about the agent alone: such a request still gets in line for a slot, and is refused when the last free
//! unit of its target goes. The machine is *settled* after each call: no ticket is in line that could be granted, none
//! whose agents are gone or unavailable, and none that could never end. That is why a new request that can be granted at
//! once overtakes nobody who could be served: each ticket lacks a unit or a slot. It may overtake one that lacks only a
//! slot: in another pool, or by a lent slot.
//!
//! **How it stays fast.** A [`Demand`](demand::Demand) keeps the agents that meet it and have a free unit, best first. A
//! pool lists its ready queues by the age of their first ticket; `open` lists the pools that have a free slot and a ready
//! queue. A grant takes the first of the first. Granting or releasing a unit of an agent touches the demands that this
//! agent meets, never the other agents. A new ticket looks for its queue among those of its target.
//!
//! **What it costs.** Each such touch is logarithmic in what is listed. An agent that becomes full or free also looks at
//! every queue of its demands, one for each pool, policy and lender: `n` parents that wait for one agent make `n` queues,
//! and `n * n` looks until all are served. The first use of a demand and the end of its use walk the agents that have
//! its rarest skill.
//!
//! **An example.** A unit of a full agent is given back, and two queues are in line for it:
//! 1. `release` takes the slot out of the claim, and `forget` ends the claim's waits.
//! 2. `set_active` counts one unit less. The agent is free now: each demand that it meets lists it, and its queues become
//!    ready. Those of their pools that have a free slot enter `open`.
//! 3. `give_back` frees the slot; its pool may enter `open` only now.
//! 4. `grant` takes the pool whose ready ticket is oldest, and that ticket. `best` names the unit, `free_slot` the slot: a
//!    lent one is preferred to one of the own limit.
//! 5. `hold` makes the agent full again: a queue that no other agent can serve is ready no longer, and if it is one of
//!    `Reject`, its tickets are refused.
//! 6. `grant` goes on until `open` is empty.
//!
//! **Where**, in reading order:
//! - `pool`, `claim`: most of the data.
//! - Here: requests, granting and releasing.
//! - `waiting`: tickets and queues.
//! - `lending`: who awaits whom, and the slots that go with it.
//! - `wait_graph`: the waits that could never end.
//! - `requirements`, `demand`: from the skills of a request to its demand, and the agents that meet it.
//! - `agent`, `load`, `free`: an agent, and which one is best.
//! - `lifecycle`: agents come, go, and take work or none.
//! - `usage`: what is in use, for those who ask.
//! - `refusal`: why a request is refused, in words. `few`: a list of what there is mostly one of.
//!
//! **Invariants.** `free + leased = max` for each agent; `taken ≤ limit` for each pool, but for those who have lost a slot
//! that they were lent; a lent slot is held by nobody but whom the lender awaits; every ticket stands in exactly one
//! queue of its own limit, and in one of the slot that is lent to it, if one is; a queue is listed as ready iff its target
//! has a free unit. Keys from outside may be stale; such calls do nothing. Inside, every key leads somewhere
//! (`tests/invariants.rs`): there an `else { return }` only stands for an unwrap.

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
mod usage;
mod wait_graph;
mod waiting;

use std::collections::{BTreeSet, HashMap};

use agent::Agent;
pub use agent::Availability;
use claim::{Claim, Holding, Standing};
use demand::Demands;
use lending::Wait;
use load::Load;
use pool::{Age, Pool, Queue, Target};
pub use refusal::{Refusal, WaitStep};
use slotmap::{SlotMap, new_key_type};
pub(crate) use usage::{AgentLoad, PoolLoad};

use convoke_core::{AgentId, CapacityPolicy, SkillId, TaskId};

new_key_type! {
    /// A registered agent.
    pub(crate) struct AgentKey;
    /// A request, from before it is in line until it has given back what it was granted.
    pub(crate) struct ClaimKey;
    /// A limit that leases share.
    pub(crate) struct PoolKey;
    /// Somebody who awaits others.
    pub(crate) struct WaitKey;
    struct DemandKey;
    struct QueueKey;
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

/// What a call brings about for others; the caller's own answer is what the call returns.
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
    /// The wait for a claim that was there before anybody awaited it is refused; the claim goes on.
    Unawaited {
        claim: ClaimKey,
        refusal: Refusal,
    },
}

/// A free unit of an agent; of nobody for who wants a slot alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit(Option<AgentKey>);

/// The machine. `W` is whatever the caller needs to answer who is in line.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Dispatch<W> {
    agents: SlotMap<AgentKey, Agent>,
    by_id: HashMap<AgentId, AgentKey>,
    demands: Demands,
    queues: SlotMap<QueueKey, Queue>,
    /// The queues of `Target::SlotAlone`.
    slot_queues: Vec<QueueKey>,
    pools: SlotMap<PoolKey, Pool>,
    /// The pools with a free slot and a queue that is ready, by the age of their first ticket. Empty between calls.
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

    /// Takes away a pool that nobody is in line for; leases from it go on and are released like any other.
    pub(crate) fn close_pool(&mut self, key: PoolKey) {
        // With nobody in line it has no ready queue, so that `open` does not list it.
        self.pools.remove(key);
    }

    /// Makes a claim that is not in line yet, so that it can be awaited before it is.
    pub(crate) fn claim(&mut self, task: Option<TaskId>, pool: PoolKey) -> ClaimKey {
        self.claims.insert(Claim { predates_wait: true, ..Claim::coming(task, pool) })
    }

    /// Grants, queues or refuses a request; `waiter` is kept if it is queued. A refused one leaves nothing of its own
    /// behind; a claim that it had already stays its owner's, in line, and where it could never end, an effect tells
    /// whoever awaits it.
    pub(crate) fn request(&mut self, ask: Ask<'_>, waiter: impl FnOnce() -> W) -> Result<Decision, Refusal> {
        let target = self.find_target(ask.want)?;
        let unit = self.best(target);
        let policy = match ask.want {
            Want::Agent { policy, .. } => policy,
            Want::Slot => CapacityPolicy::Wait,
        };
        if unit.is_none() && policy == CapacityPolicy::Reject {
            return Err(self.exhausted(target));
        }
        // A claim that is in line or granted stays as it is; the request then gets a new one.
        let own_claim = ask.claim.filter(|&key| self.claims.get(key).is_some_and(Claim::is_coming));
        let key = own_claim.unwrap_or_else(|| self.claims.insert(Claim::coming(ask.task.cloned(), ask.pool)));
        if let Some(wait) = ask.awaited_in {
            self.link(wait, key);
        }
        // What is granted awaits nothing, so that no wait can become endless by it.
        if let (Some(unit), Some(slot)) = (unit, self.free_slot(key)) {
            self.hold(key, unit, slot);
            return Ok(Decision::Granted(key, unit.0));
        }
        // Put in line first, so that the search finds it where it would stand.
        self.enqueue(key, target, policy, waiter());
        let Some(path) = self.endless_wait(key) else { return Ok(Decision::Queued(key)) };
        let refusal = Refusal::WaitCycle { path };
        if own_claim.is_some() {
            self.refuse_wait(key, refusal);
            return Ok(Decision::Queued(key));
        }
        self.unqueue(key);
        self.forget(key);
        Err(refusal)
    }

    /// Gives a unit and its slot back.
    pub(crate) fn release(&mut self, key: ClaimKey) {
        let Some(claim) = self.claims.get_mut(key) else { return };
        let lent_pool = claim.lent_pool;
        let Some(held) = claim.holding_mut() else { return };
        // The slot is taken out before `forget`: `unlink` would take the claim for a borrower that goes on, and give it a
        // slot beyond the limit.
        let holding = Holding { slot: held.slot.take(), ..*held };
        self.forget(key);
        if let Some(agent_key) = holding.agent
            && let Some(agent) = self.agents.get_mut(agent_key)
        {
            agent.detached -= u32::from(holding.detached);
            let active = agent.load.active - 1;
            self.set_active(agent_key, active);
        }
        self.give_back(holding.slot, lent_pool);
        self.grant();
    }

    /// Grants until no ticket is left that a unit and a slot could serve: the oldest of the oldest first.
    fn grant(&mut self) {
        while let Some(&(_, pool)) = self.open.first() {
            // None of these is missing: an open pool has a ready queue, and that has a ticket and a unit.
            let Some(&(_, queue)) = self.pools.get(pool).and_then(|pool| pool.ready.first()) else { return };
            let Some(queue) = self.queues.get(queue) else { return };
            let (Some(unit), Some(&(_, key))) = (self.best(queue.target), queue.tickets.first()) else {
                return;
            };
            // Whichever pool let it be served, the slot that is lent to it comes first.
            let slot = self.free_slot(key).unwrap_or(pool);
            let Some(waiter) = self.unqueue(key) else { return };
            self.hold(key, unit, slot);
            self.effects.push(Effect::Granted { waiter, claim: key, agent: unit.0 });
        }
    }

    /// Gives a unit and a slot, both free, to a claim.
    fn hold(&mut self, key: ClaimKey, unit: Unit, slot: PoolKey) {
        if let Some(agent_key) = unit.0
            && let Some(agent) = self.agents.get(agent_key)
        {
            let active = agent.load.active + 1;
            self.set_active(agent_key, active);
        }
        self.change_pool(slot, |pool| pool.taken += 1);
        if let Some(claim) = self.claims.get_mut(key) {
            claim.standing = Standing::Holding(Holding { agent: unit.0, slot: Some(slot), detached: false });
        }
    }

    /// Takes a claim out of line, or away before it is in line; gives back its waiter if it was in line. It held
    /// nothing that another could be granted now.
    pub(crate) fn withdraw(&mut self, key: ClaimKey) -> Option<W> {
        if self.claims.get(key)?.holding().is_some() {
            return None;
        }
        let waiter = self.unqueue(key);
        self.forget(key);
        waiter
    }

    /// Marks a lease as held by work that nobody awaits any more. It keeps a slot of its own; one that it was lent goes
    /// back, and one of a limit that is exceeded.
    pub(crate) fn detach(&mut self, key: ClaimKey) {
        let Some(holding) = self.claims.get_mut(key).and_then(Claim::holding_mut) else { return };
        if std::mem::replace(&mut holding.detached, true) {
            return;
        }
        let goes_back = |pool: &Pool| pool.is_lent() || pool.is_over();
        let slot = holding.slot.take_if(|slot| self.pools.get(*slot).is_some_and(goes_back));
        if let Some(agent) = holding.agent.and_then(|agent| self.agents.get_mut(agent)) {
            agent.detached += 1;
        }
        self.close_waits(key);
        if let Some(slot) = slot {
            self.free_up(slot);
        }
        self.grant();
    }

    /// Gives back the slot of work that nobody awaits any more; it keeps its unit until it is released.
    pub(crate) fn forfeit_slot(&mut self, key: ClaimKey) {
        // Its waits end first: what they await is in line for the slot that it lends, and that pool goes away next.
        self.detach(key);
        let Some(claim) = self.claims.get_mut(key) else { return };
        let lent_pool = claim.lent_pool.take();
        let slot = claim.holding_mut().and_then(|holding| holding.slot.take());
        self.give_back(slot, lent_pool);
        self.grant();
    }

    /// What a request is in line for, or why nobody can serve it. Callers rely on the order of the checks:
    /// `docs/concepts/capacity.md`.
    fn find_target(&mut self, want: Want<'_>) -> Result<Target, Refusal> {
        let Want::Agent { skills, preferred, .. } = want else { return Ok(Target::SlotAlone) };
        let Some(id) = preferred else {
            let demand = self.demand_for(skills);
            let Some(refusal) = self.hopeless(demand) else { return Ok(Target::AnyWith(demand)) };
            self.retire_if_unmet(demand);
            return Err(refusal);
        };
        let not_found = || Refusal::AgentNotFound { agent: id.clone() };
        let key = self.find(id.as_str()).ok_or_else(not_found)?;
        let agent = self.agents.get(key).ok_or_else(not_found)?;
        if !skills.iter().all(|skill| agent.skills.contains(skill)) {
            Err(Refusal::CapabilityNotFound { agent: Some(id.clone()), skills: skills.to_vec() })
        } else if agent.is_available() {
            Ok(Target::Agent(key))
        } else {
            Err(Refusal::AgentUnavailable { agent: Some(id.clone()) })
        }
    }

    /// The best of the free units of a target, if any is free.
    fn best(&self, target: Target) -> Option<Unit> {
        match target {
            Target::AnyWith(demand) => self.demands.get(demand)?.free.best().map(|load| Unit(Some(load.key))),
            Target::Agent(agent) => self.agents.get(agent)?.is_free().then_some(Unit(Some(agent))),
            Target::SlotAlone => Some(Unit(None)),
        }
    }

    /// What a request is told that does not wait for a unit of its target.
    fn exhausted(&self, target: Target) -> Refusal {
        let agent = match target {
            Target::Agent(agent) => self.agents.get(agent).map(|agent| agent.load.id.clone()),
            Target::AnyWith(_) | Target::SlotAlone => None,
        };
        Refusal::CapacityExhausted { agent }
    }

    fn free_up(&mut self, slot: PoolKey) {
        self.change_pool(slot, |pool| pool.taken = pool.taken.saturating_sub(1));
    }

    /// Changes a pool, and lists it in `open` as it then is.
    fn change_pool(&mut self, key: PoolKey, change: impl FnOnce(&mut Pool)) {
        let Some(pool) = self.pools.get_mut(key) else { return };
        let before = pool.grantable_since();
        change(pool);
        let after = pool.grantable_since();
        if before != after {
            if let Some(age) = before {
                self.open.remove(&(age, key));
            }
            if let Some(age) = after {
                self.open.insert((age, key));
            }
        }
    }

    /// Sets how many units of an agent are in use, and moves it among, into or out of the free agents of each demand that it
    /// meets. If it became free or full, its queues follow.
    fn set_active(&mut self, key: AgentKey, active: u32) {
        let Some(agent) = self.agents.get_mut(key) else { return };
        let before = &agent.load;
        let (was_free, is_free) = (agent.is_listed, agent.is_available() && active < before.max);
        for &demand in &agent.demands {
            let Some(demand) = self.demands.get_mut(demand) else { continue };
            match (was_free, is_free) {
                (true, true) => demand.free.reorder(before, active),
                (true, false) => demand.free.remove(before),
                (false, true) => demand.free.insert(Load { active, ..before.clone() }),
                (false, false) => {}
            }
        }
        agent.load.active = active;
        agent.is_listed = is_free;
        if was_free != is_free {
            self.refresh_queues_of(key);
        }
    }
}
