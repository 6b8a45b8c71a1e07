//! The work: what a host does with Convoke.

use std::hint::black_box;

use convoke::{LeaseRequest, SessionId, SkillId, prelude::*};

/// How much runs at a time.
pub(crate) const LIMIT: usize = 64;

/// How many agents have the skill that a lease is asked for.
pub(crate) const AGENTS: usize = 1_000;

/// Tasks that do nothing, one after the other.
pub(crate) async fn dispatch(units: usize) {
    let Some(team) = team() else { return };
    for _ in 0..units {
        black_box(team.run(request()).await.is_ok_and(|report| report.is_success()));
    }
}

/// Tasks that do nothing, all at once.
pub(crate) async fn fanout(units: usize) {
    let Some(team) = team() else { return };
    black_box(team.run_parallel((0..units).map(|_| request())).await);
}

/// A lease taken and given back, among agents that all have the skill.
pub(crate) async fn acquire(units: usize) {
    let registry = AgentRegistry::new();
    for agent in 0..AGENTS {
        let descriptor = AgentDescriptor::new(format!("agent-{agent}")).with_skill("skill");
        if registry.add(descriptor, nothing()).is_err() {
            return;
        }
    }
    let Ok(skill) = SkillId::new("skill") else { return };
    let skills = [skill];
    for _ in 0..units {
        black_box(registry.acquire(LeaseRequest::new(&skills)).await.is_ok());
    }
}

/// Messages appended, a snapshot after each.
pub(crate) async fn session(units: usize) {
    let Ok(id) = SessionId::new("bench") else { return };
    let session = Session::new(id);
    for _ in 0..units {
        black_box(session.post(Message::user("a line of text")).await.is_ok());
        black_box(session.snapshot());
    }
}

fn team() -> Option<TeamRuntime> {
    let registry = AgentRegistry::new();
    registry
        .add(AgentDescriptor::new("idle").with_skill("skill").with_max_concurrency(1_000), nothing())
        .ok()?;
    TeamRuntime::builder(registry).max_parallel_tasks(LIMIT).build().ok()
}

fn request() -> TaskRequest {
    TaskRequest::new("nothing").requiring("skill")
}

fn nothing() -> impl AgentExecutor {
    FunctionExecutor::new(|_request, _ctx| async { Ok(TaskOutput::default()) })
}
