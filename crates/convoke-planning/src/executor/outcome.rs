//! What comes back from an executor.

use std::{fmt, pin::Pin};

use convoke_core::{ExecutorError, MAX_JSON_DEPTH, TaskOutcome, TaskOutput, json_is_too_deep};

use crate::machine::{Question, StepError, StepErrorCode, WorkOutcome};

/// How an attempt of a step ended, in its executor's own word. A text and a [`TaskOutput`] are completed ones; an error is
/// the executor's `Err`.
#[derive(Debug)]
#[non_exhaustive]
pub enum StepOutcome {
    /// Done.
    Completed(TaskOutput),
    /// It needs an answer to go on; the answer continues the same attempt.
    Asked(Question),
    /// It cannot be done as things stand.
    Blocked {
        /// Why.
        reason: String,
        /// Whether to try again while attempts remain.
        retryable: bool,
    },
    /// It stopped. Where nobody asked it to, that is a failure.
    Cancelled,
    /// By the executor's own clock its time was over.
    TimedOut {
        /// What of it still runs.
        still_running: Option<StillRunning>,
    },
}

/// What of a step's work goes on after its executor has answered: a future that resolves once that has ended too.
pub struct StillRunning(Pin<Box<dyn Future<Output = ()> + Send>>);

impl StillRunning {
    /// Work that ends when `ended` resolves.
    pub fn until(ended: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(ended))
    }

    pub(crate) async fn ended(self) {
        self.0.await;
    }
}

impl fmt::Debug for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StillRunning")
    }
}

impl StepOutcome {
    /// It cannot be done as things stand.
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self::Blocked { reason: reason.into(), retryable: false }
    }

    /// It needs an answer from a person.
    pub fn asked(prompt: impl Into<String>) -> Self {
        Self::Asked(Question::new(prompt))
    }
}

impl From<TaskOutput> for StepOutcome {
    fn from(output: TaskOutput) -> Self {
        Self::Completed(output)
    }
}

impl From<String> for StepOutcome {
    fn from(text: String) -> Self {
        Self::Completed(text.into())
    }
}

impl From<&str> for StepOutcome {
    fn from(text: &str) -> Self {
        Self::Completed(text.into())
    }
}

/// What an agent says of a task, said of a step.
impl From<TaskOutcome> for StepOutcome {
    fn from(outcome: TaskOutcome) -> Self {
        match outcome {
            TaskOutcome::Completed(output) => Self::Completed(output),
            TaskOutcome::InputRequired { prompt, resume, .. } => {
                let question = Question::new(prompt);
                Self::Asked(match resume {
                    Some(token) => question.with_token(token),
                    None => question,
                })
            }
            TaskOutcome::Blocked { reason, .. } => Self::blocked(reason),
            TaskOutcome::Cancelled { .. } => Self::Cancelled,
            TaskOutcome::TimedOut { .. } => Self::TimedOut { still_running: None },
        }
    }
}

/// The same for the machine, and what goes on behind it.
pub(crate) fn settled(answer: Result<StepOutcome, ExecutorError>) -> (WorkOutcome, Option<StillRunning>) {
    let outcome = match answer {
        Ok(StepOutcome::Completed(output)) if output.is_too_deep() => WorkOutcome::Failed(StepError::new(
            StepErrorCode::ExecutionFailed,
            format!("output nests more than {MAX_JSON_DEPTH} levels deep; flatten it, or give it as text"),
        )),
        Ok(StepOutcome::Completed(output)) => WorkOutcome::Completed(output.into()),
        Ok(StepOutcome::Asked(Question { token: Some(token), .. })) if json_is_too_deep(token.state()) => {
            WorkOutcome::Failed(StepError::new(
                StepErrorCode::ExecutionFailed,
                format!("resume token nests more than {MAX_JSON_DEPTH} levels deep; flatten it"),
            ))
        }
        Ok(StepOutcome::Asked(question)) => WorkOutcome::Asked(question),
        Ok(StepOutcome::Blocked { reason, retryable }) => {
            WorkOutcome::Blocked { error: StepError::new(StepErrorCode::ExecutionBlocked, reason), retryable }
        }
        Ok(StepOutcome::Cancelled) => WorkOutcome::Cancelled,
        Ok(StepOutcome::TimedOut { still_running }) => {
            return (WorkOutcome::TimedOut { detached: still_running.is_some() }, still_running);
        }
        Err(error) if error.code() == convoke_core::ErrorCode::Cancelled => WorkOutcome::Cancelled,
        Err(error) => {
            let error = error.into_task_error();
            let message = match error.detail() {
                Some(detail) => format!("{}: {detail}", error.message()),
                None => error.message().to_owned(),
            };
            WorkOutcome::Failed(StepError::new(StepErrorCode::ExecutionFailed, message))
        }
    };
    (outcome, None)
}
