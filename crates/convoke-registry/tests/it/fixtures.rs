//! What the tests share: agents, skills, and polling on the spot.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use convoke_core::{AgentDescriptor, AgentId, SkillId};
use convoke_registry::{AgentRegistry, Lease, LeaseRequest, Refusal};
use convoke_testkit::ScriptedExecutor;

/// A registry of agents with their skills and places.
pub(crate) fn registry(agents: &[(&str, &[&str], u32)]) -> AgentRegistry {
    let registry = AgentRegistry::new();
    for (id, skills, places) in agents {
        registry.add(agent(id, skills, *places), ScriptedExecutor::new([])).unwrap();
    }
    registry
}

pub(crate) fn agent(id: &str, skills: &[&str], places: u32) -> AgentDescriptor {
    let agent = AgentDescriptor::new(id).with_max_concurrency(places);
    skills.iter().fold(agent, |agent, &skill| agent.with_skill(skill))
}

pub(crate) fn skills(ids: &[&str]) -> Vec<SkillId> {
    ids.iter().map(|&id| SkillId::new(id).unwrap()).collect()
}

pub(crate) fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

/// What a future says when it is polled once, by nobody who could be woken.
pub(crate) fn poll_once<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A lease that is there at once, or why there is none.
#[track_caller]
pub(crate) fn now(registry: &AgentRegistry, request: LeaseRequest<'_>) -> Result<Lease, Refusal> {
    match poll_once(&mut Box::pin(registry.acquire(request))) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it waits"),
    }
}

/// Active, detached and waiting of an agent.
#[track_caller]
pub(crate) fn load(registry: &AgentRegistry, agent: &str) -> (u32, u32, usize) {
    let agent = registry.get(agent).unwrap();
    assert_eq!(agent.free() + agent.active, agent.descriptor.max_concurrency);
    assert!(agent.detached <= agent.active);
    (agent.active, agent.detached, agent.waiting)
}
