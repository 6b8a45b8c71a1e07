//! The teams that the benchmarks work with: one agent with room for everybody, or many with one place each.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::sleep;

use convoke::{TeamRuntimeBuilder, prelude::*};

/// How much runs at a time unless a benchmark says otherwise.
pub(super) const LIMIT: usize = 64;

/// A runtime whose one agent does nothing.
pub(super) fn idle() -> Result<TeamRuntimeBuilder> {
    around(do_nothing())
}

/// A runtime with so many agents that do nothing.
pub(super) fn idle_agents(agents: usize) -> Result<TeamRuntimeBuilder> {
    let registry = AgentRegistry::new();
    for agent in 0..agents {
        registry.add(AgentDescriptor::new(format!("agent-{agent}")).with_skill("skill"), do_nothing())?;
    }
    Ok(TeamRuntime::builder(registry).max_parallel_tasks(LIMIT))
}

fn do_nothing() -> impl AgentExecutor {
    FunctionExecutor::new(|_request, _ctx| async { Ok(TaskOutput::default()) })
}

/// A runtime whose one agent sleeps.
pub(super) fn sleeping(time: Duration) -> Result<TeamRuntimeBuilder> {
    around(FunctionExecutor::new(move |_request, _ctx| async move {
        sleep(time).await;
        Ok(TaskOutput::default())
    }))
}

/// A runtime with one agent.
pub(super) fn around(executor: impl AgentExecutor) -> Result<TeamRuntimeBuilder> {
    let registry = AgentRegistry::new();
    registry.add(AgentDescriptor::new("agent").with_skill("skill").with_max_concurrency(1_000), executor)?;
    Ok(TeamRuntime::builder(registry).max_parallel_tasks(LIMIT))
}

/// A request that the agent serves.
pub(super) fn request() -> TaskRequest {
    TaskRequest::new("nothing").requiring("skill")
}

/// Whether the work was done at all: a refusal is fast too.
pub(super) fn ensure_done(report: &Result<TaskReport, TeamError>) -> Result<()> {
    ensure!(report.as_ref().is_ok_and(TaskReport::is_success), "task did not complete: {report:?}");
    Ok(())
}
