//! What a child answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use convoke_core::{ExecutorError, ResumeToken, TaskOutcome, TaskOutput};

/// What the child of a [`ProcessExecutor`](crate::ProcessExecutor) writes to its standard output: one JSON value, whose
/// `status` is the name of the case in `snake_case`. White space around it is ignored; nothing else may be there.
///
/// Outputs, and all of their fields, may be left out. A child that is written in Rust makes one of an outcome:
///
/// ```
/// use convoke_core::TaskOutcome;
/// use convoke_registry::ProcessAnswer;
///
/// let answer: ProcessAnswer = serde_json::from_str(r#"{"status":"completed","output":{"text":"done"}}"#)?;
/// assert_eq!(answer, TaskOutcome::completed("done").into());
/// let answer: ProcessAnswer = serde_json::from_str(r#"{"status":"blocked","reason":"no key"}"#)?;
/// assert_eq!(answer, TaskOutcome::blocked("no key").into());
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ProcessAnswer {
    /// Done.
    Completed {
        /// What came out.
        #[serde(default)]
        output: TaskOutput,
    },
    /// Asks for input.
    InputRequired {
        /// What to ask, for a person.
        prompt: String,
        /// The same in a machine's form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Value>,
        /// What the next attempt needs to go on: a `version` and a `state`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<ResumeToken>,
        /// What there is so far.
        #[serde(default)]
        output: TaskOutput,
    },
    /// Cannot be done as things stand.
    Blocked {
        /// Why.
        reason: String,
        /// What there is.
        #[serde(default)]
        output: TaskOutput,
    },
    /// Stopped because it was asked to.
    Cancelled {
        /// What there is.
        #[serde(default)]
        output: TaskOutput,
    },
    /// Ran out of time by its own clock.
    TimedOut {
        /// What there is.
        #[serde(default)]
        output: TaskOutput,
    },
    /// Failed, as with an exit code other than 0, in the child's own words. The code is `execution_failed`.
    Failed {
        /// Why; private to the caller.
        detail: String,
        /// What every observer may read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public: Option<String>,
    },
}

impl ProcessAnswer {
    pub(super) fn into_result(self) -> Result<TaskOutcome, ExecutorError> {
        Ok(match self {
            Self::Completed { output } => TaskOutcome::Completed(output),
            Self::InputRequired { prompt, request, resume, output } => {
                TaskOutcome::InputRequired { prompt, request, resume, output }
            }
            Self::Blocked { reason, output } => TaskOutcome::Blocked { reason, output },
            Self::Cancelled { output } => TaskOutcome::Cancelled { output },
            Self::TimedOut { output } => TaskOutcome::TimedOut { output },
            Self::Failed { detail, public } => {
                let error = ExecutorError::new(detail);
                return Err(match public {
                    Some(text) => error.with_public(text),
                    None => error,
                });
            }
        })
    }
}

impl From<TaskOutcome> for ProcessAnswer {
    fn from(outcome: TaskOutcome) -> Self {
        match outcome {
            TaskOutcome::Completed(output) => Self::Completed { output },
            TaskOutcome::InputRequired { prompt, request, resume, output } => {
                Self::InputRequired { prompt, request, resume, output }
            }
            TaskOutcome::Blocked { reason, output } => Self::Blocked { reason, output },
            TaskOutcome::Cancelled { output } => Self::Cancelled { output },
            TaskOutcome::TimedOut { output } => Self::TimedOut { output },
        }
    }
}
