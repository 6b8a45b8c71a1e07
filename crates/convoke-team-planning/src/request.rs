//! From a step to a request.

use convoke_core::{Message, Resume, TaskId, TaskRequest};
use convoke_planning::{PlanStep, StepContext, machine::StepInput};
use convoke_registry::RunOptions;
use convoke_session::{IfCompleted, Reconcile, Session};

use crate::{StepMark, question::PauseToken};

/// Asks for the work of an attempt, or answers the pause of one.
pub(crate) fn request(
    (session, task): (&Session, &TaskId),
    input: StepInput,
    ctx: &StepContext,
    mark: &StepMark,
    pause: Option<&PauseToken>,
) -> TaskRequest {
    let step = ctx.step();
    let mut request = TaskRequest::default();
    if let (Some(pause), Some(answer)) = (pause, ctx.answer()) {
        request.resume = Some(Resume::new(pause.resume(), answer.answer.clone()));
    } else {
        request.input = text(step, input.text);
        request.data = input.data;
        request.preferred_agent.clone_from(&step.agent);
        request.required_skills.clone_from(&step.required_skills);
        request.messages.extend(ctx.note().map(Message::user));
    }
    request.id = Some(task.clone());
    request.session = Some(session.id().clone());
    request.trace_id = ctx.scope().trace_id().map(ToString::to_string);
    request.metadata.clone_from(&step.metadata);
    mark.put(&mut request.metadata);
    request
}

/// The step's own input; where it has none, what is to be done, and behind that what came from other steps.
fn text(step: &PlanStep, input: String) -> String {
    if !step.input.is_empty() {
        return input;
    }
    let what = if step.description.is_empty() { &step.title } else { &step.description };
    match (what.is_empty(), input.is_empty()) {
        (true, _) => input,
        (false, true) => what.clone(),
        (false, false) => format!("{what}\n\n{input}"),
    }
}

/// Whatever became of the task before, the plan has decided that it is to run; what its steps inherit goes with it.
pub(crate) fn options(ctx: &StepContext) -> RunOptions {
    let scope = ctx.scope();
    let mut options = RunOptions::new()
        .with_cancellation(scope.cancellation().clone())
        .with_if_completed(IfCompleted::Again)
        .with_late(Reconcile::Retry);
    options.deadline = scope.deadline();
    options.budget = scope.budget().map(|budget| budget.child().build());
    options
}
