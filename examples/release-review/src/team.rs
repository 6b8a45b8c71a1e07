//! The team of a review: who is in it, and what each member is given and answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use convoke::{
    AgentDescriptor, AgentRegistry, AnyExecutor, ExecutorError, FunctionExecutor, TaskOutput, TeamEventKind,
    TeamRuntime,
};

use crate::{
    error::Error,
    fact::ScopedFacts,
    finding::Finding,
    name::Name,
    progress::Progress,
    result::{ResultId, ResultRecord},
    review::Watcher,
    roles,
    synthesis::synthesize,
    task::{TaskDirectory, TaskError},
};

/// How many specialists work at once.
const MAX_PARALLEL: usize = 4;

/// What a specialist is given: its own facts and the results that its work rests on, and nothing else of the evidence.
#[derive(Debug, Serialize)]
pub(crate) struct Assignment<'a> {
    pub(crate) task: &'a Name,
    pub(crate) scope: &'a ScopedFacts,
    pub(crate) results: Vec<&'a ResultRecord>,
}

/// What the synthesis is given: the verified results by their digests, and no file of the evidence.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SynthesisAssignment {
    pub(crate) agents: Vec<String>,
    pub(crate) results: Vec<ResultId>,
}

/// Builds the team: an agent for each specialist and one for the synthesis. `others` takes the place of the deterministic
/// readers.
pub(crate) fn build(
    task: &Arc<TaskDirectory>,
    others: &[(String, AnyExecutor)],
    watcher: Watcher,
) -> Result<TeamRuntime, Error> {
    let registry = AgentRegistry::new();
    let other =
        |agent: &str| others.iter().find(|(name, _)| name == agent).map(|(_, executor)| executor.clone());
    let known = |agent: &str| agent == roles::SYNTHESIS || task.facts().scope(agent).is_some();
    if let Some((agent, _)) = others.iter().find(|(agent, _)| !known(agent)) {
        return Err(TaskError::UnknownAgent { agent: agent.clone() }.into());
    }
    for scope in task.facts() {
        let agent = AgentDescriptor::new(scope.agent()).with_role("specialist").with_skill(scope.agent());
        match other(scope.agent()) {
            Some(executor) => registry.add(agent, executor)?,
            None => registry.add(agent, specialist(task.request().id().clone(), scope.clone()))?,
        }
    }
    let agent = AgentDescriptor::new(roles::SYNTHESIS).with_role("synthesis").with_skill(roles::SYNTHESIS);
    match other(roles::SYNTHESIS) {
        Some(executor) => registry.add(agent, executor)?,
        None => registry.add(agent, synthesis(Arc::clone(task)))?,
    }
    let runtime = TeamRuntime::builder(registry).max_parallel_tasks(MAX_PARALLEL).on_event(move |event| {
        if let (TeamEventKind::Started, Some(agent)) = (event.kind, &event.agent) {
            watcher(&Progress::Started { agent: agent.to_string() });
        }
    });
    Ok(runtime.build()?)
}

/// A deterministic specialist. It holds its own facts alone.
fn specialist(task: Name, scope: ScopedFacts) -> AnyExecutor {
    let answer: fn(&Name, &ScopedFacts) -> Finding =
        if scope.agent() == roles::ENGINEERING { roles::engineering } else { roles::operations };
    AnyExecutor::new(FunctionExecutor::new(move |_request, _ctx| {
        let output = TaskOutput::from_json(&answer(&task, &scope));
        async move { Ok::<_, ExecutorError>(output?) }
    }))
}

/// The deterministic synthesis. It reads the results that it is given, and checks each as it reads it.
fn synthesis(task: Arc<TaskDirectory>) -> AnyExecutor {
    AnyExecutor::new(FunctionExecutor::new(move |request, _ctx| {
        let task = Arc::clone(&task);
        async move {
            let data =
                request.data.ok_or_else(|| ExecutorError::new("the synthesis was given no results"))?;
            let assignment: SynthesisAssignment = serde_json::from_value(data)?;
            let synthesis = tokio::task::spawn_blocking(move || {
                let store = task.results();
                let results: Result<Vec<_>, _> =
                    assignment.results.iter().map(|id| store.read(*id)).collect();
                let agents: Vec<&str> = assignment.agents.iter().map(String::as_str).collect();
                results.map(|results| synthesize(task.request().release(), &agents, &results))
            });
            Ok::<_, ExecutorError>(TaskOutput::from_json(&synthesis.await??)?)
        }
    }))
}
