//! The machine against a reference that tries everything, and the cases that a reader would ask about.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use convoke_core::{AgentId, CapacityPolicy, ErrorCode, SkillId};

use super::*;

const AGENTS: [&str; 4] = ["a", "b", "c", "d"];
const SKILLS: [&str; 3] = ["x", "y", "z"];

fn skill(name: &str) -> SkillId {
    SkillId::new(name).unwrap()
}

fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// What a waiter was told, by its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Granted(String),
    Refused(ErrorCode),
    Queued,
}

#[derive(Clone, Debug)]
enum Op {
    Register { agent: usize, skills: Vec<usize>, max: u32 },
    Remove { agent: usize },
    Set { agent: usize, availability: Availability },
    Request { skills: Vec<usize>, preferred: Option<usize>, policy: CapacityPolicy, pool: usize },
    Release { nth: usize },
    Detach { nth: usize },
    Withdraw { nth: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let skills = || proptest::sample::subsequence(vec![0, 1, 2], 0..=2);
    let availability =
        prop_oneof![Just(Availability::Available), Just(Availability::Draining), Just(Availability::Offline)];
    prop_oneof![
        2 => (0..4usize, proptest::sample::subsequence(vec![0, 1, 2], 0..=3), 1..5u32)
            .prop_map(|(agent, skills, max)| Op::Register { agent, skills, max }),
        1 => (0..4usize).prop_map(|agent| Op::Remove { agent }),
        2 => (0..4usize, availability).prop_map(|(agent, availability)| Op::Set { agent, availability }),
        6 => (
            skills(),
            proptest::option::weighted(0.3, 0..4usize),
            prop_oneof![3 => Just(CapacityPolicy::Wait), 1 => Just(CapacityPolicy::Reject)],
            0..2usize
        )
            .prop_map(|(skills, preferred, policy, pool)| Op::Request { skills, preferred, policy, pool }),
        4 => (0..8usize).prop_map(|nth| Op::Release { nth }),
        2 => (0..8usize).prop_map(|nth| Op::Detach { nth }),
        2 => (0..8usize).prop_map(|nth| Op::Withdraw { nth }),
    ]
}

#[derive(Clone, Debug)]
struct RefAgent {
    skills: HashSet<SkillId>,
    max: u32,
    active: u32,
    availability: Availability,
}

#[derive(Clone, Debug)]
struct RefTicket {
    waiter: usize,
    skills: Vec<SkillId>,
    preferred: Option<AgentId>,
    policy: CapacityPolicy,
    pool: usize,
}

#[derive(Clone, Debug)]
struct RefLease {
    waiter: usize,
    agent: AgentId,
    pool: usize,
    detached: bool,
}

/// The rules, tried one ticket after another.
#[derive(Debug, Default)]
struct Reference {
    agents: BTreeMap<AgentId, RefAgent>,
    tickets: Vec<RefTicket>,
    leases: Vec<RefLease>,
    taken: [usize; 2],
    limits: [usize; 2],
}

impl Reference {
    fn hopeless(&self, ticket: &RefTicket) -> Option<ErrorCode> {
        let has_all = |agent: &RefAgent| ticket.skills.iter().all(|one| agent.skills.contains(one));
        if let Some(id) = &ticket.preferred {
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

    fn best(&self, ticket: &RefTicket) -> Option<AgentId> {
        let able = |(id, agent): &(&AgentId, &RefAgent)| {
            ticket.skills.iter().all(|one| agent.skills.contains(one))
                && ticket.preferred.as_ref().is_none_or(|preferred| preferred == *id)
                && agent.availability == Availability::Available
                && agent.active < agent.max
        };
        let load = |agent: &RefAgent| f64::from(agent.active) / f64::from(agent.max);
        self.agents
            .iter()
            .filter(able)
            .min_by(|(one_id, one), (other_id, other)| {
                load(one)
                    .total_cmp(&load(other))
                    .then(one.active.cmp(&other.active))
                    .then(one_id.cmp(other_id))
            })
            .map(|(id, _)| id.clone())
    }

    fn settle(&mut self) -> BTreeMap<usize, Told> {
        let mut told = BTreeMap::new();
        loop {
            let hopeless = |ticket: &RefTicket| {
                self.hopeless(ticket).or_else(|| {
                    let full = ticket.policy == CapacityPolicy::Reject && self.best(ticket).is_none();
                    full.then_some(ErrorCode::CapacityExhausted)
                })
            };
            if let Some((index, code)) =
                self.tickets.iter().enumerate().find_map(|(index, ticket)| Some((index, hopeless(ticket)?)))
            {
                told.insert(self.tickets.remove(index).waiter, Told::Refused(code));
                continue;
            }
            let servable = self.tickets.iter().enumerate().find_map(|(index, ticket)| {
                (self.taken[ticket.pool] < self.limits[ticket.pool]).then_some(())?;
                Some((index, self.best(ticket)?))
            });
            let Some((index, id)) = servable else { return told };
            let ticket = self.tickets.remove(index);
            self.agents.get_mut(&id).unwrap().active += 1;
            self.taken[ticket.pool] += 1;
            told.insert(ticket.waiter, Told::Granted(id.to_string()));
            let RefTicket { waiter, pool, .. } = ticket;
            self.leases.push(RefLease { waiter, agent: id, pool, detached: false });
        }
    }
}

/// The machine and the reference, driven by the same calls.
struct Both {
    machine: Dispatch<usize>,
    reference: Reference,
    pools: Vec<PoolKey>,
    leases: BTreeMap<usize, ClaimKey>,
    tickets: BTreeMap<usize, ClaimKey>,
    next_waiter: usize,
}

impl Both {
    fn new(limits: [usize; 2]) -> Self {
        let mut machine = Dispatch::new();
        let pools = limits.iter().map(|&limit| machine.open_pool(limit)).collect();
        let reference = Reference { limits, ..Reference::default() };
        Self { machine, reference, pools, leases: BTreeMap::new(), tickets: BTreeMap::new(), next_waiter: 0 }
    }

    fn name(&self, key: AgentKey) -> String {
        self.machine.agents[key].id.to_string()
    }

    fn told(&mut self) -> BTreeMap<usize, Told> {
        let mut told = BTreeMap::new();
        for effect in self.machine.take_effects() {
            let (waiter, what) = match effect {
                Effect::Granted { waiter, claim, agent } => {
                    self.leases.insert(waiter, claim);
                    (waiter, Told::Granted(self.name(agent.unwrap())))
                }
                Effect::Refused { waiter, refusal } => (waiter, Told::Refused(refusal.code())),
            };
            self.tickets.remove(&waiter);
            assert_eq!(told.insert(waiter, what), None, "a waiter is told once");
        }
        told
    }

    fn apply(&mut self, op: Op) {
        let mut machine_told = BTreeMap::new();
        match op {
            Op::Register { agent: index, skills, max } => {
                let (id, skills) =
                    (agent(AGENTS[index]), skills.iter().map(|&one| skill(SKILLS[one])).collect());
                let added = self.machine.register(id.clone(), HashSet::clone(&skills), max).is_some();
                assert_eq!(added, !self.reference.agents.contains_key(&id));
                let fresh = RefAgent { skills, max, active: 0, availability: Availability::Available };
                self.reference.agents.entry(id).or_insert(fresh);
            }
            Op::Remove { agent: index } => {
                let Some(key) = self.machine.find(AGENTS[index]) else { return };
                let idle = self.reference.agents[AGENTS[index]].active == 0;
                assert_eq!(self.machine.remove(key), idle);
                if idle {
                    self.reference.agents.remove(AGENTS[index]);
                }
            }
            Op::Set { agent: index, availability } => {
                let Some(key) = self.machine.find(AGENTS[index]) else { return };
                self.machine.set_availability(key, availability);
                self.reference.agents.get_mut(AGENTS[index]).unwrap().availability = availability;
            }
            Op::Request { skills, preferred, policy, pool } => {
                let waiter = self.next_waiter;
                self.next_waiter += 1;
                let mut skills: Vec<_> = skills.iter().map(|&one| skill(SKILLS[one])).collect();
                // Named again, which asks for nothing more.
                skills.extend(skills.first().cloned().filter(|_| waiter.is_multiple_of(3)));
                let preferred = preferred.map(|index| agent(AGENTS[index]));
                let want = Want::Agent { skills: &skills, preferred: preferred.as_ref(), policy };
                let ask = Ask { want, pool: self.pools[pool], task: None, claim: None, awaited_in: None };
                let told = match self.machine.request(ask, || waiter) {
                    Ok(Decision::Granted(lease, agent)) => {
                        self.leases.insert(waiter, lease);
                        Told::Granted(self.name(agent.unwrap()))
                    }
                    Ok(Decision::Queued(ticket)) => {
                        self.tickets.insert(waiter, ticket);
                        Told::Queued
                    }
                    Ok(Decision::QueuedUnawaited(..)) => panic!("nobody awaits"),
                    Err(refusal) => Told::Refused(refusal.code()),
                };
                machine_told.insert(waiter, told);
                self.reference.tickets.push(RefTicket { waiter, skills, preferred, policy, pool });
            }
            Op::Release { nth } => {
                let Some((&waiter, _)) = self.leases.iter().nth(nth) else { return };
                self.machine.release(self.leases.remove(&waiter).unwrap());
                let index = self.reference.leases.iter().position(|lease| lease.waiter == waiter).unwrap();
                let lease = self.reference.leases.remove(index);
                self.reference.agents.get_mut(&lease.agent).unwrap().active -= 1;
                self.reference.taken[lease.pool] -= 1;
            }
            Op::Detach { nth } => {
                let Some((&waiter, &lease)) = self.leases.iter().nth(nth) else { return };
                self.machine.detach(lease);
                self.reference.leases.iter_mut().find(|lease| lease.waiter == waiter).unwrap().detached =
                    true;
            }
            Op::Withdraw { nth } => {
                let Some((&waiter, _)) = self.tickets.iter().nth(nth) else { return };
                assert_eq!(self.machine.withdraw(self.tickets.remove(&waiter).unwrap()), Some(waiter));
                self.reference.tickets.retain(|ticket| ticket.waiter != waiter);
            }
        }
        let mut expected = self.reference.settle();
        for ticket in &self.reference.tickets {
            if machine_told.contains_key(&ticket.waiter) {
                expected.insert(ticket.waiter, Told::Queued);
            }
        }
        machine_told.extend(self.told());
        assert_eq!(machine_told, expected);
        self.check();
    }

    /// What must hold after each call, whatever the calls were.
    fn check(&self) {
        for (id, agent) in &self.reference.agents {
            let key = self.machine.find(id.as_str()).unwrap();
            let load = self.machine.agent_load(key).unwrap();
            assert_eq!((load.active, load.availability), (agent.active, agent.availability));
            let own = self.reference.leases.iter().filter(|lease| lease.agent == *id && lease.detached);
            assert_eq!(load.detached as usize, own.count());
            let waits = |ticket: &&RefTicket| match &ticket.preferred {
                Some(preferred) => preferred == id,
                None => ticket.skills.iter().all(|one| agent.skills.contains(one)),
            };
            assert_eq!(load.waiting, self.reference.tickets.iter().filter(waits).count());
        }
        for (index, &pool) in self.pools.iter().enumerate() {
            let load = self.machine.pool_load(pool);
            assert!(load.taken <= self.reference.limits[index]);
            assert_eq!(load.taken, self.reference.taken[index]);
            let waiting = self.reference.tickets.iter().filter(|ticket| ticket.pool == index).count();
            assert_eq!(load.waiting, waiting);
        }
        let tickets = self.machine.claims.values().filter(|claim| claim.ticket().is_some()).count();
        assert_eq!(tickets, self.reference.tickets.len());
        assert!(self.machine.queues.values().all(|queue| !queue.tickets.is_empty()), "an empty queue stays");
        for (key, queue) in &self.machine.queues {
            let head = queue.tickets.first().map(|(age, _)| *age);
            assert_eq!(queue.listed, head.filter(|_| self.machine.best(queue.place).is_some()));
            let pool = &self.machine.pools[queue.pool];
            assert_eq!(queue.listed.is_some(), pool.ready.contains(&(head.unwrap(), key)));
        }
        assert!(self.machine.open.is_empty(), "the machine is settled after each call");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn grants_queues_and_refuses_as_the_rules_say(
        limits in (1..4usize, 1..4usize),
        ops in proptest::collection::vec(op(), 1..80),
    ) {
        let mut both = Both::new([limits.0, limits.1]);
        for op in ops {
            both.apply(op);
        }
        // Whatever happened, everything can be given back.
        while !both.leases.is_empty() {
            both.apply(Op::Release { nth: 0 });
        }
        prop_assert_eq!(both.machine.claims.len(), 0);
        for pool in &both.pools {
            prop_assert_eq!(both.machine.pool_load(*pool).taken, 0);
        }
    }
}

fn machine(agents: &[(&str, &[&str], u32)], limit: usize) -> (Dispatch<usize>, PoolKey) {
    let mut machine = Dispatch::new();
    let pool = machine.open_pool(limit);
    for (id, skills, max) in agents {
        machine.register(agent(id), skills.iter().map(|name| skill(name)).collect(), *max).unwrap();
    }
    (machine, pool)
}

fn request(
    machine: &mut Dispatch<usize>,
    pool: PoolKey,
    skills: &[&str],
    waiter: usize,
) -> Result<Decision, Refusal> {
    let skills: Vec<_> = skills.iter().map(|name| skill(name)).collect();
    let want = Want::Agent { skills: &skills, preferred: None, policy: CapacityPolicy::Wait };
    let ask = Ask { want, pool, task: None, claim: None, awaited_in: None };
    machine.request(ask, || waiter)
}

#[test]
fn a_stream_of_simple_requests_does_not_starve_an_older_demanding_one() {
    let (mut machine, pool) = machine(&[("both", &["x", "y"], 1)], 8);
    let Ok(Decision::Granted(mut lease, _)) = request(&mut machine, pool, &["x"], 0) else {
        panic!("granted")
    };
    request(&mut machine, pool, &["x", "y"], 1).unwrap();
    for waiter in 2..10 {
        request(&mut machine, pool, &["x"], waiter).unwrap();
    }
    let mut order = Vec::new();
    while order.len() < 9 {
        machine.release(lease);
        for effect in machine.take_effects() {
            let Effect::Granted { waiter, claim: next, .. } = effect else { panic!("refused") };
            order.push(waiter);
            lease = next;
        }
    }
    assert_eq!(order, (1..10).collect::<Vec<_>>());
}

#[test]
fn a_busy_agent_does_not_hold_up_requests_for_an_idle_one() {
    let (mut machine, pool) = machine(&[("busy", &["x"], 1), ("idle", &["y"], 8)], 4);
    for waiter in 0..4 {
        request(&mut machine, pool, &["x"], waiter).unwrap();
    }
    for waiter in 4..7 {
        let decision = request(&mut machine, pool, &["y"], waiter);
        assert!(matches!(decision, Ok(Decision::Granted(..))), "{decision:?}");
    }
}

#[test]
fn requirements_that_nobody_waits_for_are_kept_within_a_bound() {
    let names: Vec<String> = (0..60).map(|index| format!("s{index}")).collect();
    let skills: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut machine, pool) = machine(&[("all", &skills, 1)], 1);
    for one in 0..60 {
        for other in 0..one {
            let Ok(Decision::Granted(lease, _)) =
                request(&mut machine, pool, &[skills[one], skills[other]], 0)
            else {
                panic!("granted")
            };
            machine.release(lease);
        }
    }
    let key = machine.find("all").unwrap();
    assert!(
        machine.agents[key].demands.len() <= demand::IDLE_DEMANDS + 1,
        "{}",
        machine.agents[key].demands.len()
    );
}

#[test]
fn a_burst_of_requirements_leaves_no_more_than_the_bound_behind() {
    let names: Vec<String> = (0..40).map(|index| format!("s{index}")).collect();
    let skills: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut machine, pool) = machine(&[("all", &skills, 1)], 1);
    let Ok(Decision::Granted(..)) = request(&mut machine, pool, &[], 0) else { panic!("granted") };
    let mut tickets = Vec::new();
    for one in 0..40 {
        for other in 0..one {
            let Ok(Decision::Queued(ticket)) = request(&mut machine, pool, &[skills[one], skills[other]], 0)
            else {
                panic!("queued")
            };
            tickets.push(ticket);
        }
    }
    let key = machine.find("all").unwrap();
    assert_eq!(machine.agents[key].demands.len(), 40 * 39 / 2 + 1, "somebody waits for each");
    for ticket in tickets {
        machine.withdraw(ticket);
    }
    assert_eq!(machine.agents[key].demands.len(), demand::IDLE_DEMANDS + 1);
}

#[test]
fn a_skill_that_is_named_twice_is_required_once() {
    let (mut machine, pool) = machine(&[("a", &["x", "y"], 1)], 1);
    let key = machine.find("a").unwrap();
    for skills in [&["x", "x"][..], &["x"], &["y", "x", "y"], &["x", "y"]] {
        for _ in 0..3 {
            let Ok(Decision::Granted(lease, _)) = request(&mut machine, pool, skills, 0) else {
                panic!("granted")
            };
            machine.release(lease);
        }
    }
    assert_eq!(machine.agents[key].demands.len(), 2);
}

#[test]
fn a_detached_lease_is_counted_until_it_is_released() {
    let (mut machine, pool) = machine(&[("a", &["x"], 2)], 2);
    let Ok(Decision::Granted(lease, Some(key))) = request(&mut machine, pool, &["x"], 0) else {
        panic!("granted")
    };
    machine.detach(lease);
    machine.detach(lease);
    let load = machine.agent_load(key).unwrap();
    assert_eq!((load.active, load.detached), (1, 1));
    machine.release(lease);
    machine.release(lease);
    machine.detach(lease);
    let load = machine.agent_load(key).unwrap();
    assert_eq!((load.active, load.detached), (0, 0));
}

#[test]
fn a_claim_is_used_once() {
    let (mut machine, pool) = machine(&[("a", &[], 3)], 1);
    let claim = machine.claim(None, pool);
    let want = Want::Agent { skills: &[], preferred: None, policy: CapacityPolicy::Wait };
    let ask = Ask { want, pool, task: None, claim: Some(claim), awaited_in: None };
    let keys = [0, 1, 2].map(|waiter| match machine.request(ask, || waiter).unwrap() {
        Decision::Granted(key, _) | Decision::Queued(key) => key,
    });
    assert_eq!(keys[0], claim);
    for key in keys {
        machine.release(key);
    }
    assert_eq!((machine.take_effects().len(), machine.claims.len()), (2, 0));
}

#[test]
fn what_is_given_up_waits_no_more() {
    let (mut machine, pool) = machine(&[("a", &["x"], 1), ("b", &["y"], 2)], 1);
    let Ok(Decision::Granted(lease, _)) = request(&mut machine, pool, &["x"], 0) else { panic!("granted") };
    let awaited_in = machine.open_wait(lease);
    let skills = [skill("y")];
    let want = Want::Agent { skills: &skills, preferred: None, policy: CapacityPolicy::Wait };
    let ask = Ask { want, pool, task: None, claim: None, awaited_in };
    machine.request(ask, || 1).unwrap();
    machine.request(ask, || 2).unwrap();
    machine.forfeit(lease, false);
    assert!(machine.waits.is_empty(), "{:?}", machine.waits);
    assert_eq!(machine.queues.len(), 1, "the line for the lent slot goes with the lender");
}
