//! Two agents with different skills share a session: one writes, the other reviews what it wrote.

use std::error::Error;

use convoke::{ArtifactId, prelude::*};

/// The writer: its answer, and the same text as an artifact that others can find.
async fn write(request: TaskRequest, ctx: ExecutionContext) -> Result<TaskOutput, ExecutorError> {
    let draft =
        format!("# {}\n\nA timed-out call no longer frees capacity that is still in use.", request.input);
    ctx.session().post(Message::agent("one heading, one sentence; please review"))?;
    Ok(TaskOutput::text(draft.clone()).with_artifact(Artifact::text("draft", draft)?))
}

/// The reviewer: reads the draft from the session, and leaves a number for whoever comes next.
async fn review(_request: TaskRequest, ctx: ExecutionContext) -> Result<String, ExecutorError> {
    let snapshot = ctx.session().snapshot();
    let draft = snapshot
        .artifact(&TaskId::new("write")?, &ArtifactId::new("draft")?)
        .ok_or_else(|| ExecutorError::new("no draft").with_public("there is no draft to review"))?;
    let words = draft.artifact.text.split_whitespace().count();
    ctx.session().set("words", words.into()).await?;
    Ok(format!("{words} words, no objection"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = AgentRegistry::new();
    registry.add(
        AgentDescriptor::new("ada").with_role("writer").with_skill("write"),
        FunctionExecutor::new(write),
    )?;
    registry.add(
        AgentDescriptor::new("grace").with_role("reviewer").with_skill("review"),
        FunctionExecutor::new(review),
    )?;
    let team = TeamRuntime::builder(registry).build()?;

    // Nobody is named: each task goes to the agent that has the skill.
    for (task, input) in [("write", "Release notes"), ("review", "Is the draft fit to publish?")] {
        let request = TaskRequest::new(input).with_id(task).in_session("notes").requiring(task);
        let report = team.run(request).await?;
        let agent = report.agent.as_ref().map_or("nobody", AgentId::as_str);
        println!("task {task}: {} by {agent}, attempt {}", report.status, report.attempt);
    }

    let session = team.session("notes").ok_or("the session is gone")?.snapshot();
    println!("\nsession {}, revision {}", session.id(), session.revision());
    for message in session.messages() {
        let first_line = message.message.text.lines().next().unwrap_or_default();
        println!("  {}. {}: {first_line}", message.sequence, message.author);
    }
    for artifact in session.artifacts() {
        println!(
            "  artifact {} of task {}: {} bytes",
            artifact.artifact.id,
            artifact.task,
            artifact.artifact.size()
        );
    }
    for (key, entry) in session.states() {
        println!("  state {key} = {}", entry.value);
    }
    Ok(())
}
