//! A release as a plan: two checks side by side, one of which fails at first, a verdict on both, an announcement that
//! somebody approves, and what is tidied up whatever comes of it.

use std::{error::Error, time::Duration};

use convoke_core::{ExecutorError, Metadata};
use convoke_planning::{
    ApprovalDecision, BoxError, FunctionStepExecutor, PlanDraft, PlanPolicy, PlanRun, PlanRunner,
    PlanValidator, StepContext, StepDraft, StepOutcome, StepRequest, machine::StepInput,
};
use tokio::time::sleep;

fn draft() -> PlanDraft {
    PlanDraft::new("release 1.4").with_id("release-1.4").with_steps([
        StepDraft::new("tests").titled("Read the test report"),
        StepDraft::new("oncall").titled("See who is on call"),
        StepDraft::new("verdict").titled("Weigh both").input_from("tests").input_from("oncall"),
        StepDraft::new("announce").titled("Announce it").input_from("verdict").gated(),
        StepDraft::new("tidy").titled("Remove the test data").after_end_of("tests"),
    ])
}

/// Does each step by its name. The server of the rota does not answer the first time.
async fn work(input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
    let data = input.data.unwrap_or_default();
    let from = |step: &str| {
        let output = data.pointer(&format!("/steps/{step}")).and_then(|output| output.as_str());
        output.unwrap_or("nothing").to_owned()
    };
    let (millis, text) = match (ctx.step().id.as_str(), ctx.attempt()) {
        ("tests", _) => (300, "50 of 50 passed".to_owned()),
        ("oncall", 1) => return Err(ExecutorError::new("the rota does not answer")),
        ("oncall", _) => (20, "ada is on call".to_owned()),
        ("verdict", _) => (5, format!("go: {}, {}", from("tests"), from("oncall"))),
        ("announce", _) => (40, format!("told all: {}", from("verdict"))),
        (step, _) => (1, format!("{step} is done")),
    };
    sleep(Duration::from_millis(millis)).await;
    Ok(text.into())
}

/// Whoever may announce. A real one asks a person, or leaves the gate open.
async fn approve(request: StepRequest) -> Result<ApprovalDecision, BoxError> {
    println!("asked to approve: {}\n", request.input.text);
    Ok(ApprovalDecision::Approve(Metadata::from_iter([("by".to_owned(), "grace".into())])))
}

fn show(run: &PlanRun) {
    println!("{}: {}, {} starts, {:?}", run.plan.id(), run.stop, run.executed, run.elapsed);
    for (step, report) in run.plan.steps().iter().zip(&run.steps) {
        let text = report.output.as_ref().map_or("", |output| &output.text);
        println!("  {}: {}, attempt {}: {text}", step.id, report.status, report.attempts);
        if let Some(by) = report.approval.get("by") {
            println!("    approved by {by}");
        }
    }
    for (step, output) in run.final_outputs() {
        println!("nobody waits for {step}: {}", output.text);
    }
    println!("\n{}", run.to_mermaid());
}

// The clock jumps to the next timer, so that every run takes the same times and no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let policy = PlanPolicy::builder().max_parallel_steps(2).max_attempts(2).build()?;
    let plan = PlanValidator::new(&policy).validate(draft())?;
    let runner = PlanRunner::builder()
        .policy(policy)
        .executor(FunctionStepExecutor::new(work))
        .approvals(approve)
        .seed(1)
        .build()?;
    show(&runner.run_plan(plan).await?);
    Ok(())
}
