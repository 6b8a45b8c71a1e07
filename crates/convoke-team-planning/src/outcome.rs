//! From a report to what became of the step.

use convoke_core::{ErrorCode, ExecutorError, TaskError, TaskOutput, TaskReport, TaskStatus};
use convoke_planning::{StepOutcome, StillRunning};
use convoke_registry::TeamHandle;
use convoke_session::Session;

use crate::{StepMark, question::question};

/// What became of the step of this mark.
pub(crate) async fn outcome(
    team: &TeamHandle,
    session: &Session,
    report: TaskReport,
    mark: &StepMark,
) -> Result<StepOutcome, NotDone> {
    match report.status {
        TaskStatus::Completed => Ok(StepOutcome::Completed(output(session, report))),
        TaskStatus::InputRequired => Ok(StepOutcome::Asked(question(&report, mark))),
        TaskStatus::TimedOut => {
            let still_running = report.detached.then(|| StillRunning::until(team.detached_ended(&report)));
            Ok(StepOutcome::TimedOut { still_running })
        }
        TaskStatus::Cancelled => {
            // Until it has ended the step must not start again; whoever cancelled it does not wait for longer than he wants.
            team.detached_ended(&report).await;
            Ok(StepOutcome::Cancelled)
        }
        TaskStatus::Blocked => Err(NotDone::Blocked(reason(report))),
        // That the others are none is the team's to see to.
        TaskStatus::Failed | TaskStatus::Submitted | TaskStatus::Working => {
            Err(NotDone::Failed(reason(report)))
        }
    }
}

fn reason(report: TaskReport) -> TaskError {
    report.error.unwrap_or_else(|| {
        TaskError::new(ErrorCode::ContractViolation, "team gave neither an output nor a reason")
    })
}

/// Why a step was not done.
pub(crate) enum NotDone {
    /// It cannot be done as things stand: nobody could begin, or the agent says so.
    Blocked(TaskError),
    Failed(TaskError),
}

impl From<TaskError> for NotDone {
    fn from(error: TaskError) -> Self {
        match error.code().status() {
            TaskStatus::Blocked => Self::Blocked(error),
            _ => Self::Failed(error),
        }
    }
}

impl NotDone {
    /// The same in the words of an executor.
    pub(crate) fn into_outcome(self) -> Result<StepOutcome, ExecutorError> {
        match self {
            Self::Blocked(error) => {
                let reason = match error.detail() {
                    Some(detail) => format!("{}: {detail}", error.message()),
                    None => error.message().to_owned(),
                };
                Ok(StepOutcome::Blocked { reason, retryable: error.is_retryable() })
            }
            Self::Failed(error) => {
                let failure = ExecutorError::new(error.detail().unwrap_or(error.code().as_str()));
                Err(failure.with_public(error.message().to_owned()))
            }
        }
    }
}

/// The output of a completed task, with the artifacts that its agent published while it worked.
fn output(session: &Session, report: TaskReport) -> TaskOutput {
    let TaskReport { task, attempt, output, .. } = report;
    let mut output = output.unwrap_or_default();
    let snapshot = session.snapshot();
    let published = snapshot.artifacts_of(&task).filter(|kept| kept.attempt == attempt);
    for kept in published {
        if output.artifacts.iter().all(|artifact| artifact.id != kept.artifact.id) {
            output.artifacts.push(kept.artifact.clone());
        }
    }
    output
}
