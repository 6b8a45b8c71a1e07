//! Single decisions about requirements, queues and counts.

use convoke_core::{AgentId, CapacityPolicy};

use super::both::skill;
use crate::dispatch::{Ask, Decision, Dispatch, Effect, PoolKey, Refusal, Want, demand};

fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
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
