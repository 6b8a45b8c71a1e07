//! An editor asks a writer and two reviewers, all in one slot; a wait that could never end is refused, with its path;
//! and an audit that the editor starts outlives it.

use std::{error::Error, future::ready};

use tokio::sync::mpsc;

use convoke::prelude::*;

/// Asks for a draft, then for two opinions of it at once. While it awaits them, they use its slot.
async fn edit(request: TaskRequest, ctx: ExecutionContext) -> Result<String, ExecutorError> {
    let write = TaskRequest::new(request.input).with_id("draft").requiring("write");
    let draft = ctx.team().run(write).await?.into_result()?.text;
    let review = |id: &str, question: &str| {
        TaskRequest::new(format!("{question}: {draft}")).with_id(id).requiring("review")
    };
    let reviews = [review("facts", "are the facts right"), review("style", "is it readable")];
    let mut edited = draft;
    for report in ctx.team().run_parallel(reviews).await {
        edited = format!("{edited}\n  {}", report?.into_result()?.text);
    }
    Ok(edited)
}

/// Says who asked for the review, as the scope of the attempt tells it.
async fn review(request: TaskRequest, ctx: ExecutionContext) -> Result<String, ExecutorError> {
    let (question, _) = request.input.split_once(": ").unwrap_or_default();
    let line: Vec<_> = ctx.scope().lineage().map(|entry| entry.task.to_string()).collect();
    Ok(format!("{question}? yes ({})", line.join(" < ")))
}

/// Has one place and asks for itself: the task that it waits for would wait for it.
async fn ask_oneself(request: TaskRequest, ctx: ExecutionContext) -> Result<String, ExecutorError> {
    let second = TaskRequest::new(request.input).with_id("second opinion").preferring("oracle");
    let report = ctx.team().run(second).await?;
    Ok(report.error.map_or_else(|| "agreed".to_owned(), |error| error.to_string()))
}

/// Starts an audit and does not wait for it: a task of its own, in a session of its own. With one slot in the team, it
/// begins when this one has ended.
fn publish(
    request: &TaskRequest,
    ctx: &ExecutionContext,
    audits: &mpsc::UnboundedSender<TaskHandle>,
) -> Result<String, ExecutorError> {
    let audit = TaskRequest::new("what was published").with_id("audit").requiring("audit");
    audits.send(ctx.team().spawn_independent(audit))?;
    Ok(format!("published {}", request.input))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = AgentRegistry::new();
    let write = |request: TaskRequest, _ctx| async move { Ok(format!("a page on {}", request.input)) };
    let audit = |request: TaskRequest, _ctx| async move { Ok(format!("{}: in order", request.input)) };
    let (audits, mut started) = mpsc::unbounded_channel();
    let publish = move |request: TaskRequest, ctx: ExecutionContext| ready(publish(&request, &ctx, &audits));
    registry.add(AgentDescriptor::new("editor").with_skill("edit"), FunctionExecutor::new(edit))?;
    registry.add(AgentDescriptor::new("writer").with_skill("write"), FunctionExecutor::new(write))?;
    let reviewer = AgentDescriptor::new("reviewer").with_skill("review").with_max_concurrency(2);
    registry.add(reviewer, FunctionExecutor::new(review))?;
    registry.add(AgentDescriptor::new("oracle"), FunctionExecutor::new(ask_oneself))?;
    registry.add(AgentDescriptor::new("publisher").with_skill("publish"), FunctionExecutor::new(publish))?;
    registry.add(AgentDescriptor::new("auditor").with_skill("audit"), FunctionExecutor::new(audit))?;
    // One slot for all of it: who waits lends it to what it waits for.
    let team = TeamRuntime::builder(registry).max_parallel_tasks(1).build()?;

    let report = team.run(TaskRequest::new("capacity").with_id("edit").requiring("edit")).await?;
    println!("{report}: {}\n", report.text());

    let report = team.run(TaskRequest::new("will it rain?").with_id("question").preferring("oracle")).await?;
    println!("{report}: {}\n", report.text());

    let report = team.run(TaskRequest::new("the page").with_id("publish").requiring("publish")).await?;
    println!("{report}: {}", report.text());
    let report = started.recv().await.ok_or("no audit was started")?.await?;
    println!("{report}: {}", report.text());
    Ok(())
}
