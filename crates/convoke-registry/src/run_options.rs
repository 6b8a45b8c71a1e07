//! What a caller may say about one run, and what can go wrong with running at all.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use convoke_core::{Budget, TaskId, TaskReport};
use convoke_session::{IfCompleted, Reconcile};

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
    /// What the run may spend. Unless set, the runtime's budget, or for nested work one under that of the task that asks;
    /// one that is set there must be made under that too.
    pub budget: Option<Budget>,
    /// What becomes of the request where its task is completed; refused unless set. [`IfCompleted::Return`] is refused
    /// with `invalid_request` where the request has a session of its own, in which nothing was completed.
    pub if_completed: IfCompleted,
    /// What is decided about a task that timed out, or whose result came late, before the run begins; nothing unless set,
    /// and then such a task is refused. Refused itself, with `invalid_request`, where the request has a session of its own.
    pub late: Option<Reconcile>,
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

    /// Says what becomes of the request where its task is completed; for a request that names its session.
    #[must_use]
    pub fn with_if_completed(mut self, if_completed: IfCompleted) -> Self {
        self.if_completed = if_completed;
        self
    }

    /// Decides about a task that timed out, or whose result came late: [`Retry`](Reconcile::Retry) runs it again,
    /// [`AcceptLate`](Reconcile::AcceptLate) answers with what came late. [`Abandon`](Reconcile::Abandon) is refused here,
    /// since it leaves nothing to run.
    ///
    /// An id is a name within its session. A host's request that names none has a new one each time, which knows of no
    /// task: with a decision it is refused with `invalid_request`.
    #[must_use]
    pub fn with_late(mut self, late: Reconcile) -> Self {
        self.late = Some(late);
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
