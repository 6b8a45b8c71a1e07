//! The rules once more, as plainly as they can be said: no queue, no index, everything tried each time.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use convoke_core::{CapacityPolicy, ErrorCode};

use super::rules::{Answer, Call, Name, Request, Rules, Told, Wanted};
use crate::dispatch::Availability;

#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) agents: BTreeMap<&'static str, RefAgent>,
    pub(super) claims: BTreeMap<Name, RefClaim>,
    pub(super) waits: BTreeMap<Name, RefWait>,
    pub(super) limits: Vec<usize>,
    /// How many more waits that cannot end are refused; those after them are sat out.
    pub(super) refusals_left: usize,
    next_age: u64,
    /// What those who wait are told of the call under way.
    told: BTreeMap<Name, Told>,
}

#[derive(Clone, Debug)]
pub(super) struct RefAgent {
    pub(super) skills: Vec<&'static str>,
    pub(super) max: u32,
    pub(super) availability: Availability,
}

#[derive(Clone, Debug)]
pub(super) struct RefClaim {
    pub(super) pool: usize,
    pub(super) standing: RefStanding,
    pub(super) awaited_in: Option<Name>,
    /// Whether it was there before anybody awaited it.
    predates_wait: bool,
    /// Whether it has lost the slot that it was lent, and taken one of its own, free or not.
    has_moved: bool,
    /// Whether it has opened a wait, and has not given its slot up since.
    lends: bool,
}

#[derive(Clone, Debug)]
pub(super) enum RefStanding {
    Coming,
    Queued { age: u64, want: Wanted, policy: CapacityPolicy },
    Holding { agent: Option<&'static str>, slot: Option<Slot>, detached: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Slot {
    Own(usize),
    Lent(Name),
}

/// A free unit of an agent, or what stands for one where nobody's is asked for.
#[derive(Clone, Copy)]
struct Unit(Option<&'static str>);

#[derive(Clone, Debug)]
pub(super) struct RefWait {
    pub(super) awaiter: Name,
    pub(super) awaited: BTreeSet<Name>,
}

impl Rules for Reference {
    fn call(&mut self, call: &Call) -> Answer {
        let own = self.apply(call);
        let takes_units = matches!(call, Call::Remove { .. } | Call::Set { .. });
        self.settle(takes_units);
        (own, mem::take(&mut self.told))
    }

    fn reference(&self) -> &Reference {
        self
    }
}

impl Reference {
    pub(super) fn new(limits: &[usize]) -> Self {
        Self {
            agents: BTreeMap::new(),
            claims: BTreeMap::new(),
            waits: BTreeMap::new(),
            limits: limits.to_vec(),
            refusals_left: usize::MAX,
            next_age: 0,
            told: BTreeMap::new(),
        }
    }

    fn apply(&mut self, call: &Call) -> Told {
        match call {
            Call::Register { agent, skills, max } => {
                let added = !self.agents.contains_key(agent);
                self.agents.entry(agent).or_insert(RefAgent {
                    skills: skills.clone(),
                    max: *max,
                    availability: Availability::Available,
                });
                Told::Done(added)
            }
            Call::Remove { agent } => {
                let idle = self.holders(agent).next().is_none();
                Told::Done(idle && self.agents.remove(agent).is_some())
            }
            Call::Set { agent, availability } => {
                let agent = self.agents.get_mut(agent);
                Told::Done(agent.map(|agent| agent.availability = *availability).is_some())
            }
            Call::Claim { task, pool } => {
                self.claims.insert(*task, RefClaim { predates_wait: true, ..RefClaim::coming(*pool) });
                Told::Done(true)
            }
            Call::Request(request) => self.request(request),
            Call::Withdraw { task } => {
                let standing = self.claims.get(task).map(|claim| &claim.standing);
                let was_queued = matches!(standing, Some(RefStanding::Queued { .. }));
                if was_queued || matches!(standing, Some(RefStanding::Coming)) {
                    self.forget(*task);
                }
                Told::Done(was_queued)
            }
            Call::Release { task } => {
                let holds = self.holding_mut(*task).is_some();
                if holds {
                    self.forget(*task);
                }
                Told::Done(holds)
            }
            Call::Detach { task } => Told::Done(self.detach(*task)),
            Call::ForfeitSlot { task } => {
                self.detach(*task);
                if let Some((slot, _)) = self.holding_mut(*task) {
                    *slot = None;
                }
                if let Some(claim) = self.claims.get_mut(task) {
                    claim.lends = false;
                }
                Told::Done(true)
            }
            Call::OpenWait { wait, awaiter } => {
                let runs = self.holding_mut(*awaiter).is_some_and(|(_, detached)| !*detached);
                if runs {
                    self.claims.get_mut(awaiter).unwrap().lends = true;
                    self.waits.insert(*wait, RefWait { awaiter: *awaiter, awaited: BTreeSet::new() });
                }
                Told::Done(runs)
            }
            Call::Await { wait, task } => {
                let linked = self.link(*wait, *task);
                let awaiter = self.waits.get(wait).map(|wait| wait.awaiter);
                if linked && awaiter.is_some_and(|one| !self.ending().contains(&one)) && self.refuses_one() {
                    self.unlink(*task);
                    return Told::Refused(ErrorCode::WaitCycle);
                }
                Told::Done(true)
            }
            Call::CloseWait { wait } => {
                self.close_wait(*wait);
                Told::Done(true)
            }
        }
    }

    fn request(&mut self, request: &Request) -> Told {
        let Request { task, want, policy, pool, is_claimed, awaited_in } = request;
        if let Some(code) = self.hopeless(want) {
            return Told::Refused(code);
        }
        let unit = self.best(want);
        if unit.is_none() && *policy == CapacityPolicy::Reject {
            return Told::Refused(ErrorCode::CapacityExhausted);
        }
        let is_claimed = *is_claimed && self.claims.contains_key(task);
        if !is_claimed {
            self.claims.insert(*task, RefClaim::coming(*pool));
        }
        if let Some(wait) = awaited_in {
            self.link(*wait, *task);
        }
        if let (Some(Unit(agent)), Some(slot)) = (unit, self.free_slot(*task)) {
            self.hold(*task, agent, slot);
            return Told::Granted(agent.map(str::to_owned));
        }
        let age = self.next_age;
        self.next_age += 1;
        let queued = RefStanding::Queued { age, want: want.clone(), policy: *policy };
        self.claims.get_mut(task).unwrap().standing = queued;
        let is_awaited = self.claims[task].awaited_in.is_some();
        if is_awaited && !self.ending().contains(task) && self.refuses_one() {
            if is_claimed {
                self.refuse_wait(*task);
                return Told::Queued;
            }
            self.claims.get_mut(task).unwrap().standing = RefStanding::Coming;
            self.forget(*task);
            return Told::Refused(ErrorCode::WaitCycle);
        }
        Told::Queued
    }

    /// Refuses and grants until nothing is left to do.
    fn settle(&mut self, takes_units: bool) {
        loop {
            let refused = self.tickets().into_iter().find_map(|(_, task, want, policy)| {
                let full = policy == CapacityPolicy::Reject && self.best(&want).is_none();
                Some((task, self.hopeless(&want).or(full.then_some(ErrorCode::CapacityExhausted))?))
            });
            let endless = || {
                let mut youngest_first = self.tickets().into_iter().rev().map(|(_, task, ..)| task);
                youngest_first.find(|&task| takes_units && self.waits_for_itself(task))
            };
            let refused = refused.or_else(|| Some((endless()?, ErrorCode::WaitCycle)));
            if let Some((task, code)) = refused
                && (code != ErrorCode::WaitCycle || self.refuses_one())
            {
                if code == ErrorCode::WaitCycle && self.claims[&task].predates_wait {
                    self.refuse_wait(task);
                } else {
                    self.forget(task);
                    self.tell(task, Told::Refused(code));
                }
                continue;
            }
            let served = self
                .tickets()
                .into_iter()
                .find_map(|(_, task, want, _)| Some((task, self.best(&want)?, self.free_slot(task)?)));
            let Some((task, Unit(agent), slot)) = served else { return };
            self.hold(task, agent, slot);
            self.tell(task, Told::Granted(agent.map(str::to_owned)));
        }
    }

    fn refuse_wait(&mut self, task: Name) {
        self.unlink(task);
        self.tell(task, Told::Unawaited);
    }

    fn tell(&mut self, task: Name, told: Told) {
        assert_eq!(self.told.insert(task, told), None, "{task} is told once");
    }

    fn refuses_one(&mut self) -> bool {
        let refuses = self.refusals_left > 0;
        self.refusals_left = self.refusals_left.saturating_sub(1);
        refuses
    }

    /// Those in line, oldest first.
    fn tickets(&self) -> Vec<(u64, Name, Wanted, CapacityPolicy)> {
        let ticket = |(&task, claim): (&Name, &RefClaim)| match &claim.standing {
            RefStanding::Queued { age, want, policy } => Some((*age, task, want.clone(), *policy)),
            _ => None,
        };
        let mut tickets: Vec<_> = self.claims.iter().filter_map(ticket).collect();
        tickets.sort_by_key(|(age, ..)| *age);
        tickets
    }

    pub(super) fn hopeless(&self, want: &Wanted) -> Option<ErrorCode> {
        let Wanted::Agent { skills, preferred } = want else { return None };
        let has_all = |agent: &RefAgent| skills.iter().all(|one| agent.skills.contains(one));
        if let Some(id) = preferred {
            return match self.agents.get(id) {
                None => Some(ErrorCode::AgentNotFound),
                Some(agent) if !has_all(agent) => Some(ErrorCode::CapabilityNotFound),
                Some(agent) if agent.availability != Availability::Available => {
                    Some(ErrorCode::AgentUnavailable)
                }
                Some(_) => None,
            };
        }
        let mut matching = self.agents.values().filter(|agent| has_all(agent)).peekable();
        if matching.peek().is_none() {
            Some(ErrorCode::CapabilityNotFound)
        } else if matching.all(|agent| agent.availability != Availability::Available) {
            Some(ErrorCode::AgentUnavailable)
        } else {
            None
        }
    }

    /// The available agents that could serve.
    fn able(&self, want: &Wanted) -> Vec<&'static str> {
        let Wanted::Agent { skills, preferred } = want else { return Vec::new() };
        let able = |(id, agent): &(&&'static str, &RefAgent)| {
            skills.iter().all(|one| agent.skills.contains(one))
                && preferred.is_none_or(|preferred| preferred == **id)
                && agent.availability == Availability::Available
        };
        self.agents.iter().filter(able).map(|(id, _)| *id).collect()
    }

    /// The unit that a request would get now.
    fn best(&self, want: &Wanted) -> Option<Unit> {
        if matches!(want, Wanted::Slot) {
            return Some(Unit(None));
        }
        let load = |id: &'static str| (self.active(id), self.agents[id].max);
        let able = self.able(want).into_iter().filter(|&id| load(id).0 < load(id).1);
        let by_load = |&one: &&'static str, &other: &&'static str| {
            let ((active, max), (others, other_max)) = (load(one), load(other));
            let utilisation = f64::from(active) / f64::from(max);
            utilisation
                .total_cmp(&(f64::from(others) / f64::from(other_max)))
                .then(active.cmp(&others))
                .then(one.cmp(other))
        };
        able.min_by(by_load).map(|agent| Unit(Some(agent)))
    }

    pub(super) fn has_unit(&self, want: &Wanted) -> bool {
        self.best(want).is_some()
    }

    fn holders<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = Name> + 'a {
        let holds = move |claim: &RefClaim| match &claim.standing {
            RefStanding::Holding { agent: Some(held), .. } => *held == agent,
            _ => false,
        };
        self.claims.iter().filter(move |(_, claim)| holds(claim)).map(|(&task, _)| task)
    }

    pub(super) fn active(&self, agent: &str) -> u32 {
        u32::try_from(self.holders(agent).count()).unwrap()
    }

    pub(super) fn holder_of(&self, slot: Slot) -> impl Iterator<Item = Name> + '_ {
        let has = move |claim: &RefClaim| match claim.standing {
            RefStanding::Holding { slot: Some(held), .. } => held == slot,
            _ => false,
        };
        self.claims.iter().filter(move |(_, claim)| has(claim)).map(|(&task, _)| task)
    }

    /// How many slots of a limit are taken, which may be more than there are.
    pub(super) fn taken(&self, pool: usize) -> usize {
        self.holder_of(Slot::Own(pool)).count()
    }

    /// How many of them by those who had been lent one before.
    pub(super) fn moved(&self, pool: usize) -> usize {
        self.holder_of(Slot::Own(pool)).filter(|task| self.claims[task].has_moved).count()
    }

    /// Whose slot a task may borrow.
    fn lender(&self, task: Name) -> Option<Name> {
        let claim = &self.claims[&task];
        let lender = self.waits.get(&claim.awaited_in?)?.awaiter;
        let lends = self.claims.get(&lender).is_some_and(|one| one.lends && one.pool == claim.pool);
        lends.then_some(lender)
    }

    fn free_slot(&self, task: Name) -> Option<Slot> {
        let lent = self.lender(task).map(Slot::Lent);
        let pool = self.claims[&task].pool;
        let own = Some(Slot::Own(pool)).filter(|_| self.taken(pool) < self.limits[pool]);
        lent.filter(|&lent| self.holder_of(lent).next().is_none()).or(own)
    }

    /// Who can end: the least set that the rules give, by rounds.
    pub(super) fn ending(&self) -> BTreeSet<Name> {
        let mut ends = BTreeSet::new();
        loop {
            let can_end = |task: Name, claim: &RefClaim| match &claim.standing {
                RefStanding::Coming | RefStanding::Queued { want: Wanted::Slot, .. } => true,
                RefStanding::Holding { .. } => self.awaited(task).all(|one| ends.contains(&one)),
                RefStanding::Queued { want, .. } => self.able(want).into_iter().any(|agent| {
                    self.active(agent) < self.agents[agent].max
                        || self.holders(agent).any(|holder| ends.contains(&holder))
                }),
            };
            let next: BTreeSet<_> = self
                .claims
                .iter()
                .filter(|&(&task, claim)| can_end(task, claim))
                .map(|(&task, _)| task)
                .collect();
            if next == ends {
                return ends;
            }
            ends = next;
        }
    }

    fn awaited(&self, task: Name) -> impl Iterator<Item = Name> + '_ {
        self.waits
            .values()
            .filter(move |wait| wait.awaiter == task)
            .flat_map(|wait| wait.awaited.iter().copied())
    }

    /// Whether a task is on a circle of tasks that cannot end.
    fn waits_for_itself(&self, task: Name) -> bool {
        let ends = self.ending();
        let next = |one: Name| -> Vec<Name> {
            let all: Vec<Name> = match &self.claims[&one].standing {
                RefStanding::Queued { want, .. } => {
                    self.able(want).into_iter().flat_map(|agent| self.holders(agent)).collect()
                }
                _ => self.awaited(one).collect(),
            };
            all.into_iter().filter(|one| !ends.contains(one)).collect()
        };
        let mut reached = BTreeSet::new();
        let mut open = if ends.contains(&task) { Vec::new() } else { next(task) };
        while let Some(one) = open.pop() {
            if reached.insert(one) {
                open.extend(next(one));
            }
        }
        reached.contains(&task)
    }

    fn hold(&mut self, task: Name, agent: Option<&'static str>, slot: Slot) {
        let holding = RefStanding::Holding { agent, slot: Some(slot), detached: false };
        self.claims.get_mut(&task).unwrap().standing = holding;
    }

    fn holding_mut(&mut self, task: Name) -> Option<(&mut Option<Slot>, &mut bool)> {
        match &mut self.claims.get_mut(&task)?.standing {
            RefStanding::Holding { slot, detached, .. } => Some((slot, detached)),
            _ => None,
        }
    }

    fn detach(&mut self, task: Name) -> bool {
        let over: Vec<bool> =
            (0..self.limits.len()).map(|pool| self.taken(pool) > self.limits[pool]).collect();
        let Some((slot, detached)) = self.holding_mut(task) else { return false };
        if mem::replace(detached, true) {
            return false;
        }
        *slot = slot.filter(|slot| matches!(slot, Slot::Own(pool) if !over[*pool]));
        self.close_waits(task);
        true
    }

    fn link(&mut self, wait: Name, task: Name) -> bool {
        let (Some(wait_now), Some(claim)) = (self.waits.get_mut(&wait), self.claims.get_mut(&task)) else {
            return false;
        };
        if claim.awaited_in.is_some() {
            return false;
        }
        claim.awaited_in = Some(wait);
        wait_now.awaited.insert(task)
    }

    /// Nobody awaits a task any more, nor lends it a slot: one that has such a slot takes one of its own.
    fn unlink(&mut self, task: Name) {
        let Some(claim) = self.claims.get_mut(&task) else { return };
        let wait = claim.awaited_in.take();
        if let RefStanding::Holding { slot: Some(slot @ Slot::Lent(_)), .. } = &mut claim.standing {
            *slot = Slot::Own(claim.pool);
            claim.has_moved = true;
        }
        if let Some(wait) = wait.and_then(|wait| self.waits.get_mut(&wait)) {
            wait.awaited.remove(&task);
        }
    }

    fn close_wait(&mut self, wait: Name) {
        for task in self.waits.remove(&wait).map(|wait| wait.awaited).unwrap_or_default() {
            self.unlink(task);
        }
    }

    fn close_waits(&mut self, task: Name) {
        let own: Vec<_> =
            self.waits.iter().filter(|(_, wait)| wait.awaiter == task).map(|(&name, _)| name).collect();
        for wait in own {
            self.close_wait(wait);
        }
    }

    fn forget(&mut self, task: Name) {
        self.close_waits(task);
        self.unlink(task);
        self.claims.remove(&task);
    }
}

impl RefClaim {
    fn coming(pool: usize) -> Self {
        let standing = RefStanding::Coming;
        Self { pool, standing, awaited_in: None, predates_wait: false, has_moved: false, lends: false }
    }
}
