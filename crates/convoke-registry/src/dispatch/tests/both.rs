//! The machine and the reference, driven by the same calls and compared after each of them.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::{AgentId, SkillId, TaskId};

use super::{
    reference::{RefClaim, RefStanding, Reference, Slot},
    rules::{Answer, Call, Name, Request, Rules, Told, Wanted},
};
use crate::dispatch::{
    AgentKey, Ask, ClaimKey, Decision, Dispatch, Effect, PoolKey, PoolLoad, Refusal, WaitKey, WaitStep, Want,
    claim::Claim,
};

#[derive(Clone)]
pub(super) struct Both {
    pub(super) machine: Dispatch<Name>,
    pub(super) reference: Reference,
    pub(super) pools: Vec<PoolKey>,
    /// Those of the past stay, so that calls with stale keys are calls too.
    pub(super) claims: BTreeMap<Name, ClaimKey>,
    waits: BTreeMap<Name, WaitKey>,
    /// The last refusal.
    pub(super) refusal: Option<Refusal>,
}

impl Rules for Both {
    fn call(&mut self, call: &Call) -> Answer {
        let held = self.holders();
        let own = self.apply(call);
        let answer = (own, self.told());
        assert_eq!(answer, self.reference.call(call), "{call:?}");
        self.machine.check();
        self.check_loads();
        self.check_slots();
        self.check_limits(&held);
        answer
    }

    fn reference(&self) -> &Reference {
        &self.reference
    }
}

impl Both {
    pub(super) fn new(limits: &[usize]) -> Self {
        let mut machine = Dispatch::new();
        let pools = limits.iter().map(|&limit| machine.open_pool(limit)).collect();
        Self {
            machine,
            reference: Reference::new(limits),
            pools,
            claims: BTreeMap::new(),
            waits: BTreeMap::new(),
            refusal: None,
        }
    }

    fn apply(&mut self, call: &Call) -> Told {
        match call {
            Call::Register { agent, skills, max } => {
                let skills = skills.iter().map(|name| skill(name)).collect();
                Told::Done(self.machine.register(AgentId::new(*agent).unwrap(), skills, *max).is_some())
            }
            Call::Remove { agent } => {
                let agent = self.machine.find(agent);
                Told::Done(agent.is_some_and(|agent| self.machine.remove(agent)))
            }
            Call::Set { agent, availability } => {
                let agent = self.machine.find(agent);
                Told::Done(agent.map(|agent| self.machine.set_availability(agent, *availability)).is_some())
            }
            Call::Claim { task, pool } => {
                let claim = self.machine.claim(Some(id(*task)), self.pools[*pool]);
                self.claims.insert(*task, claim);
                Told::Done(true)
            }
            Call::Request(request) => self.request(request),
            Call::Withdraw { task } => Told::Done(self.machine.withdraw(self.claim(*task)) == Some(*task)),
            Call::Release { task } => self.on_holding(*task, Dispatch::release),
            Call::Detach { task } => {
                let claim = self.machine.claims.get(self.claim(*task));
                let was_detached = claim.and_then(Claim::holding).is_some_and(|one| one.detached);
                let done = self.on_holding(*task, Dispatch::detach);
                if was_detached { Told::Done(false) } else { done }
            }
            Call::ForfeitSlot { task } => {
                self.machine.forfeit_slot(self.claim(*task));
                Told::Done(true)
            }
            Call::OpenWait { wait, awaiter } => {
                let opened = self.machine.open_wait(self.claim(*awaiter));
                if let Some(opened) = opened {
                    self.waits.insert(*wait, opened);
                }
                Told::Done(opened.is_some())
            }
            Call::Await { wait, task } => {
                let awaited = self.machine.await_claim(self.wait(*wait), self.claim(*task));
                awaited.map_or_else(|refusal| self.refused(refusal), |()| Told::Done(true))
            }
            Call::CloseWait { wait } => {
                self.machine.close_wait(self.wait(*wait));
                Told::Done(true)
            }
        }
    }

    fn request(&mut self, request: &Request) -> Told {
        let Request { task, want, policy, pool, is_claimed, awaited_in } = request;
        let (skills, preferred) = match want {
            Wanted::Agent { skills, preferred } => (
                skills.iter().map(|name| skill(name)).collect(),
                preferred.map(|id| AgentId::new(id).unwrap()),
            ),
            Wanted::Slot => (Vec::new(), None),
        };
        let want = match want {
            Wanted::Agent { .. } => {
                Want::Agent { skills: &skills, preferred: preferred.as_ref(), policy: *policy }
            }
            Wanted::Slot => Want::Slot,
        };
        let id = id(*task);
        let claim = is_claimed.then(|| self.claim(*task));
        let awaited_in = awaited_in.map(|wait| self.wait(wait));
        let ask = Ask { want, pool: self.pools[*pool], task: Some(&id), claim, awaited_in };
        match self.machine.request(ask, || *task) {
            Ok(Decision::Granted(claim, agent)) => {
                self.claims.insert(*task, claim);
                Told::Granted(agent.map(|agent| self.name(agent)))
            }
            Ok(Decision::Queued(claim)) => {
                self.claims.insert(*task, claim);
                Told::Queued
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    fn on_holding(&mut self, task: Name, call: impl FnOnce(&mut Dispatch<Name>, ClaimKey)) -> Told {
        let key = self.claim(task);
        let holds = self.machine.claims.get(key).is_some_and(|claim| claim.holding().is_some());
        call(&mut self.machine, key);
        Told::Done(holds)
    }

    fn told(&mut self) -> BTreeMap<Name, Told> {
        let mut told = BTreeMap::new();
        for effect in self.machine.take_effects() {
            let (waiter, what) = match effect {
                Effect::Granted { waiter, claim, agent } => {
                    assert_eq!(self.claims[&waiter], claim, "a claim keeps its key");
                    (waiter, Told::Granted(agent.map(|agent| self.name(agent))))
                }
                Effect::Refused { waiter, refusal } => (waiter, self.refused(refusal)),
                Effect::Unawaited { claim, refusal } => {
                    self.refused(refusal);
                    let mut named = self.claims.iter().filter(|&(_, &key)| key == claim);
                    (*named.next().expect("a claim that is known").0, Told::Unawaited)
                }
            };
            assert_eq!(told.insert(waiter, what), None, "a waiter is told once");
        }
        told
    }

    /// A refusal by its code; the path of a circle is one.
    fn refused(&mut self, refusal: Refusal) -> Told {
        if let Refusal::WaitCycle { path } = &refusal {
            let ends = |step: &WaitStep| match step {
                WaitStep::Awaits { task, awaited } => (task.clone(), awaited.clone()),
                WaitStep::Needs { task, holder, .. } => (task.clone(), holder.clone()),
            };
            let next = path.iter().cycle().skip(1);
            assert!(path.iter().zip(next).all(|(one, next)| ends(one).1 == ends(next).0), "{path:?}");
        }
        let code = refusal.code();
        self.refusal = Some(refusal);
        Told::Refused(code)
    }

    fn claim(&self, task: Name) -> ClaimKey {
        self.claims.get(&task).copied().unwrap_or_default()
    }

    fn wait(&self, wait: Name) -> WaitKey {
        self.waits.get(&wait).copied().unwrap_or_default()
    }

    fn name(&self, agent: AgentKey) -> String {
        self.machine.agents[agent].load.id.to_string()
    }

    /// What the machine counts for those who ask.
    fn check_loads(&self) {
        let holding = |claim: &RefClaim| match claim.standing {
            RefStanding::Holding { agent, slot, detached } => Some((agent, slot, detached)),
            _ => None,
        };
        let claims = &self.reference.claims;
        let tickets = || {
            claims.values().filter_map(|claim| match &claim.standing {
                RefStanding::Queued { want, .. } => Some((claim.pool, want)),
                _ => None,
            })
        };
        for (id, agent) in &self.reference.agents {
            let load = self.machine.agent_load(self.machine.find(id).unwrap()).unwrap();
            assert_eq!((load.active, load.availability), (self.reference.active(id), agent.availability));
            let detached = claims.values().filter_map(holding).filter(|one| one.0 == Some(id) && one.2);
            assert_eq!(load.detached as usize, detached.count());
            let waits = |(_, want): &(usize, &Wanted)| match want {
                Wanted::Agent { preferred: Some(preferred), .. } => preferred == id,
                Wanted::Agent { skills, .. } => skills.iter().all(|one| agent.skills.contains(one)),
                Wanted::Slot => false,
            };
            assert_eq!(load.waiting, tickets().filter(waits).count());
        }
        for (index, &pool) in self.pools.iter().enumerate() {
            let taken = self.reference.taken(index);
            let waiting = tickets().filter(|(pool, _)| *pool == index).count();
            assert_eq!(self.machine.pool_load(pool), PoolLoad { taken, waiting });
        }
    }

    /// Who has which slot.
    fn check_slots(&self) {
        for (&task, claim) in &self.reference.claims {
            let RefStanding::Holding { slot, .. } = claim.standing else { continue };
            let slot = slot.map(|slot| match slot {
                Slot::Own(pool) => self.pools[pool],
                Slot::Lent(lender) => self.machine.claims[self.claim(lender)].lent_pool.unwrap(),
            });
            let holding = self.machine.claims[self.claim(task)].holding();
            assert_eq!(holding.map(|holding| holding.slot), Some(slot), "{task}");
        }
    }

    fn holders(&self) -> BTreeSet<Name> {
        let holds = |claim: &RefClaim| matches!(claim.standing, RefStanding::Holding { .. });
        self.reference.claims.iter().filter(|(_, claim)| holds(claim)).map(|(&task, _)| task).collect()
    }

    /// A limit is exceeded by no more than have lost a slot that they were lent, and none of its slots was granted by
    /// the call that leaves it so; `held` are those who held something before.
    fn check_limits(&self, held: &BTreeSet<Name>) {
        for (pool, &limit) in self.reference.limits.iter().enumerate() {
            let beyond = self.reference.taken(pool).saturating_sub(limit);
            let mut holders = self.reference.holder_of(Slot::Own(pool));
            assert!(beyond <= self.reference.moved(pool), "{beyond} beyond the limit");
            assert!(beyond == 0 || holders.all(|task| held.contains(&task)), "granted beyond the limit");
        }
    }
}

pub(super) fn id(task: Name) -> TaskId {
    TaskId::new(task.to_string()).unwrap()
}

pub(super) fn skill(name: &str) -> SkillId {
    SkillId::new(name).unwrap()
}
