//! What a caller may say about one run, and what can go wrong with running at all.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use convoke_core::{Budget, TaskId, TaskReport};

/// What a caller may say about one run, beside the request.
///
/// ```
/// use convoke_registry::{CancellationToken, RunOptions};
///
/// let token = CancellationToken::new();
/// let options = RunOptions::new().with_cancellation(token.clone());
/// assert!(options.deadline.is_none());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Stops the run when it is signalled.
    pub cancellation: Option<CancellationToken>,
    /// Stops the run at this moment, if the request's timeout does not come first.
    pub deadline: Option<Instant>,
    /// What the run may spend; the runtime's budget unless set.
    pub budget: Option<Budget>,
}

impl RunOptions {
    /// Nothing beside the request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run when `token` is signalled.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Stops the run at `deadline`, on tokio's clock.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets what the run may spend.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }
}

/// What can go wrong with running at all. Whatever happens to the task itself is in its report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// An observer or a sink failed, and the runtime was built to say so. The report is whole.
    #[error("telemetry of task `{}` failed {} times; its report is kept in this error", report.task, report.telemetry_errors)]
    Telemetry {
        /// What happened to the task all the same.
        report: Box<TaskReport>,
    },
    /// The tokio runtime ended before there was an answer, or has no timer.
    #[error(
        "task `{task}` was lost: the tokio runtime ended before there was an answer, or has no timer (`enable_time`)"
    )]
    Lost {
        /// The task.
        task: TaskId,
    },
    /// The call came from outside a tokio runtime.
    #[error("there is no tokio runtime here; call from inside one, for example under `#[tokio::main]`")]
    NoTokio,
}

impl TeamError {
    /// The report, where there is one.
    pub fn into_report(self) -> Option<TaskReport> {
        match self {
            Self::Telemetry { report } => Some(*report),
            _ => None,
        }
    }
}
