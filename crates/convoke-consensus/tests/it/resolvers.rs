//! The resolvers that come with the crate, and one of a user.

mod conforms;
mod counted;
mod judge;
mod merge;
mod own;
mod panel;
mod ranked;
mod rubric;
mod weighted;

use serde_json::Value;

use convoke_consensus::{Resolver, ResolverContext, Results, Rules, Verdict};
use convoke_core::{
    AgentId, ErrorCode, ExecutorError, Scope, SessionId, TaskId, TaskOutput, TaskReport, TaskRequest,
    TaskStatus,
};
use convoke_registry::TeamHandle;
use convoke_session::Session;

/// What a participant came to.
type Given = (AgentId, TaskReport);

fn id(agent: &str) -> AgentId {
    AgentId::new(agent).unwrap()
}

fn data(value: &Value) -> TaskOutput {
    TaskOutput::from_json(value).unwrap()
}

/// A participant that completed.
fn gave(agent: &str, output: impl Into<TaskOutput>) -> Given {
    let (task, session) = (TaskId::new(agent).unwrap(), SessionId::new("s").unwrap());
    let mut report = TaskReport::new(task, session, TaskStatus::Completed);
    report.output = Some(output.into());
    (id(agent), report)
}

/// A participant that failed, and had something to say all the same.
fn failed(agent: &str, output: impl Into<TaskOutput>) -> Given {
    let (agent, mut report) = gave(agent, output);
    report.status = TaskStatus::Failed;
    (agent, report)
}

/// Results whose reports are of agents `a`, `b`, .. in the order of the outputs.
fn each<O: Into<TaskOutput>>(outputs: impl IntoIterator<Item = O>) -> Results {
    let agents = ('a'..).map(String::from);
    Results::new(Rules::new(), agents.zip(outputs).map(|(agent, output)| gave(&agent, output)))
}

/// A context of no team.
fn alone() -> ResolverContext {
    let session = Session::new(SessionId::new("s").unwrap());
    let task = TaskId::new("c").unwrap();
    ResolverContext::new(
        TaskRequest::new("go"),
        task,
        1,
        session.snapshot(),
        TeamHandle::closed(),
        Scope::root(),
    )
}

async fn tried(resolver: &impl Resolver, results: Results) -> Result<Verdict, ExecutorError> {
    resolver.resolve(results, alone()).await
}

async fn verdict(resolver: &impl Resolver, results: Results) -> Verdict {
    tried(resolver, results).await.unwrap()
}

/// What was agreed on and by whom, or why nothing was.
fn said(verdict: &Verdict) -> Result<(&str, Vec<&str>), &str> {
    match verdict.output() {
        Some(output) => Ok((&output.text, verdict.voters().iter().map(AgentId::as_str).collect())),
        None => Err(verdict.reason().unwrap()),
    }
}

/// Checks that a resolver is refused for agents `a` and `b`, with a text that has `expected` in it.
#[track_caller]
fn assert_refused(resolver: &impl Resolver, expected: &str) {
    let text = resolver.check(&[id("a"), id("b")], &TeamHandle::closed()).unwrap_err();
    assert!(text.contains(expected), "{text}");
}

#[track_caller]
fn assert_fine(resolver: &impl Resolver) {
    assert_eq!(resolver.check(&[id("a"), id("b")], &TeamHandle::closed()), Ok(()));
}

/// The code of an error, and what every observer may read of it.
fn public(error: &ExecutorError) -> (ErrorCode, &str) {
    (error.code(), error.public().unwrap_or_default())
}
