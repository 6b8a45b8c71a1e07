//! A note about a release as a plan of four steps: a reader looks at the changes and at the tests, a writer makes a text of
//! both, and whoever can check reads that again. The writer fails once, and is asked again.

use std::error::Error;

use convoke::{PlanEvent, PlanEventKind, StepMark, prelude::*};

/// What the plan knows of another step, as the request brings it.
fn from_step<'a>(request: &'a TaskRequest, step: &str) -> &'a str {
    let data = request.data.as_ref();
    data.and_then(|data| data.pointer(&format!("/steps/{step}"))?.as_str()).unwrap_or("nothing")
}

/// Reads what is named, and checks what others have written.
async fn read(request: TaskRequest, _ctx: ExecutionContext) -> Result<String, ExecutorError> {
    Ok(match &*request.input {
        "changes" => "two features and a fix".to_owned(),
        "tests" => "all green".to_owned(),
        _ if from_step(&request, "text").ends_with('.') => "the text ends with a full stop".to_owned(),
        _ => "the text has no end".to_owned(),
    })
}

/// Writes, but not at the first attempt.
async fn write(request: TaskRequest, _ctx: ExecutionContext) -> Result<String, ExecutorError> {
    if StepMark::of(&request.metadata).is_some_and(|mark| mark.attempt == 1) {
        return Err(ExecutorError::new("the pen is dry").with_public("no ink"));
    }
    Ok(format!("{}; {}.", from_step(&request, "changes"), from_step(&request, "tests")))
}

/// One line for each thing that happens to a step.
fn tell(event: &PlanEvent) {
    let Some(step) = &event.step else { return };
    if event.kind != PlanEventKind::StepReady {
        let attempt = event.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
        println!("{step}: {}{attempt}", event.kind.as_str());
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = AgentRegistry::new();
    let reader =
        AgentDescriptor::new("reader").with_skill("read").with_skill("check").with_max_concurrency(2);
    registry.add(reader, FunctionExecutor::new(read))?;
    registry.add(AgentDescriptor::new("writer"), FunctionExecutor::new(write))?;
    let team = TeamRuntime::builder(registry).max_parallel_tasks(2).build()?;

    let draft = PlanDraft::new("a note about the release")
        .with_step(StepDraft::new("changes").requiring("read").with_input("changes"))
        .with_step(StepDraft::new("tests").requiring("read").with_input("tests"))
        .with_step(
            StepDraft::new("text")
                .titled("Write it")
                .by_agent("writer")
                .input_from("changes")
                .input_from("tests"),
        )
        .with_step(StepDraft::new("check").titled("Read it again").requiring("check").input_from("text"));
    let plan = PlanValidator::default().validate(draft)?;

    let executor = TeamStepExecutor::new(&team.handle());
    let runner = PlanRunner::builder()
        .policy(PlanPolicy::builder().max_parallel_steps(2).max_attempts(2).build()?)
        .executor(executor.clone())
        .observer(executor.session_removal())
        .observer(tell)
        .build()?;
    let run = runner.run_plan(plan).await?;

    println!("\n{}: {} of {} steps", run.stop.as_str(), run.completed, run.plan.steps().len());
    println!("text: {}", run.text("text").unwrap_or("none"));
    println!("check: {}", run.final_text());
    Ok(())
}
