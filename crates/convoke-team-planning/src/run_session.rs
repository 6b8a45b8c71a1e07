//! The session of a run: its id, its limits, what it begins with, and the pauses of its tasks.

use convoke_core::{
    AgentId, ErrorCode, IdError, Pause, PlanId, Resume, ResumeToken, RunId, SessionId, StepId, TaskError,
    TaskId, TaskReport, TaskStatus, derived_id,
};
use convoke_planning::{Plan, StepContext};
use convoke_session::{
    AdmissionOptions, Admitted, Attempt, IfCompleted, LateWriteHook, Limit, Reconcile, Session,
    SessionLimits, TaskRecord,
};
use serde_json::{Value, json};

use crate::{StepMark, question::PauseToken};

/// In the metadata of a session: that it has what the plan had come to when it was opened.
const SEEDED: &str = "convoke.plan_run";

/// What a session takes for each step.
const MESSAGES_PER_STEP: u64 = 16;
const ARTIFACTS_PER_STEP: u64 = 16;
const BYTES_PER_STEP: u64 = 256 * 1024;

/// The id of the session of a run.
pub(crate) fn id_of(plan: &PlanId, run: &RunId) -> Result<SessionId, TaskError> {
    SessionId::new(derived_id([plan.as_str(), run.as_str()])).map_err(|error| invalid(&error))
}

/// The task of a step.
pub(crate) fn task_of(step: &StepId) -> Result<TaskId, TaskError> {
    TaskId::new(step.as_str()).map_err(|error| invalid(&error))
}

/// The usual limits, or what the steps of the plan may need where that is more.
pub(crate) fn limits_for(plan: &Plan) -> SessionLimits {
    let steps = u64::try_from(plan.steps().len()).unwrap_or(u64::MAX);
    let usual = SessionLimits::default();
    let at_least = |usual: Limit, per_step: u64| match usual {
        Limit::Finite(limit) => Limit::Finite(limit.max(steps.saturating_mul(per_step))),
        Limit::Unlimited => Limit::Unlimited,
    };
    usual
        .with_messages(at_least(usual.messages, MESSAGES_PER_STEP))
        .with_artifacts(at_least(usual.artifacts, ARTIFACTS_PER_STEP))
        .with_bytes(at_least(usual.bytes, BYTES_PER_STEP))
}

/// Gives a new session what the plan has come to: each completed step as a completed task with its output.
pub(crate) async fn seed(session: &Session, ctx: &StepContext) -> Result<(), TaskError> {
    if session.snapshot().metadata(SEEDED).is_some() {
        return Ok(());
    }
    for step in ctx.plan().steps() {
        let Some(output) = ctx.output(&step.id) else { continue };
        let task = task_of(&step.id)?;
        // Else it is what was left of a beginning that its journal cut off.
        let record = session.snapshot().task(&task).map(|record| record.status);
        if record == Some(TaskStatus::Completed) {
            continue;
        }
        let mut report = TaskReport::new(task.clone(), session.id().clone(), TaskStatus::Completed);
        report.output = Some(output.as_ref().clone());
        write(session, Attempt::new(task), None, report).await?;
    }
    let of = json!({ "plan": ctx.plan().id().as_str(), "run": ctx.run().as_str() });
    session.set_metadata(SEEDED, of).await.map_err(|error| {
        let text =
            format!("session `{}` did not take the name of its plan; run the step again", session.id());
        TaskError::new(ErrorCode::StoreFailed, text).with_detail(error.to_string())
    })
}

/// Ends the pause of a task without an answer: what it was for is none of the plan's any more.
pub(crate) async fn withdraw(session: &Session, task: &TaskId, record: &TaskRecord) -> Result<(), TaskError> {
    let token = record.resume_token().cloned().unwrap_or_else(ResumeToken::empty);
    let attempt = Attempt::new(task.clone()).resuming(Resume::new(token, Value::Null));
    let mut report = TaskReport::new(task.clone(), session.id().clone(), TaskStatus::Cancelled);
    let text = format!("question of task `{task}` was withdrawn, as its step starts anew");
    report.error = Some(TaskError::new(ErrorCode::Cancelled, text));
    write(session, attempt, record.agent.as_ref(), report).await
}

/// Brings back a pause that the session does not have: it is a new one, or the answer was under way when the run ended.
pub(crate) async fn restore(
    session: &Session,
    task: &TaskId,
    (prompt, token): (&str, &PauseToken),
    asking: &StepMark,
) -> Result<(), TaskError> {
    let mut report = TaskReport::new(task.clone(), session.id().clone(), TaskStatus::InputRequired);
    report.pause = Some(Pause::new(prompt, None, token.token.clone()));
    asking.put(&mut report.metadata);
    write(session, Attempt::new(task.clone()), token.agent.as_ref(), report).await
}

/// Writes an attempt that nobody worked on here, whatever became of the task before.
async fn write(
    session: &Session,
    mut attempt: Attempt,
    agent: Option<&AgentId>,
    report: TaskReport,
) -> Result<(), TaskError> {
    attempt.is_coordinated = agent.is_none();
    let mut options = AdmissionOptions::default().with_if_completed(IfCompleted::Again);
    options.late = Some(Reconcile::Retry);
    // The other answers are to options that are not given.
    let Admitted::Attempt(mut admission) = session.admit_recorded(attempt, options).await? else {
        return Ok(());
    };
    admission.start_recorded(agent, LateWriteHook::none()).await.map_err(|error| error.to_task_error())?;
    admission.settle_recorded(report).await.map(drop).map_err(|refused| refused.to_task_error())
}

/// Ids are made of ids, so that this is not met.
fn invalid(error: &IdError) -> TaskError {
    TaskError::new(ErrorCode::InvalidRequest, error.to_string())
}
