//! Why nothing was decided about a task.

use convoke_core::{ErrorCode, TaskError, TaskId, TaskStatus};

use crate::{SettleProblem, StoreError};

/// A decision that the session refused; no record was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReconcileError {
    /// The session has no such task.
    #[error("task `{task}` is not known here; look at the session that its report names")]
    Unknown {
        /// The task.
        task: TaskId,
    },
    /// Its latest attempt has not ended.
    #[error("task `{task}` is {status}; decide once its report is there")]
    Active {
        /// The task.
        task: TaskId,
        /// Its status.
        status: TaskStatus,
    },
    /// Work of its latest attempt still runs.
    #[error(
        "attempt {attempt} of task `{task}` was given up but its work still runs; decide when it has ended, or forfeit it"
    )]
    StillDetached {
        /// The task.
        task: TaskId,
        /// The attempt whose work runs.
        attempt: u32,
    },
    /// It was abandoned before.
    #[error("task `{task}` is closed for good; give the work another id")]
    Closed {
        /// The task.
        task: TaskId,
    },
    /// Its status leaves nothing to decide.
    #[error("task `{task}` is {status}, so nothing is to be decided: {}", reason(*status))]
    NothingToDecide {
        /// The task.
        task: TaskId,
        /// Its status.
        status: TaskStatus,
    },
    /// There is no late report to accept.
    #[error("task `{task}` is {status} and has no late report; retry or abandon it")]
    NoLateReport {
        /// The task.
        task: TaskId,
        /// Its status.
        status: TaskStatus,
    },
    /// The session cannot publish what came late. The report is still there.
    #[error(transparent)]
    Output(#[from] SettleProblem),
    /// The log of the session did not take the decision.
    #[error("nothing was decided about task `{task}`: {problem}")]
    Store {
        /// The task.
        task: TaskId,
        /// What is wrong.
        problem: StoreError,
    },
}

impl ReconcileError {
    /// The machine-readable reason: of late output, that of [a settlement](SettleProblem::code).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::StillDetached { .. } => ErrorCode::StillDetached,
            Self::Output(problem) => problem.code(),
            Self::Store { .. } => ErrorCode::StoreFailed,
            _ => ErrorCode::InvalidRequest,
        }
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        match self {
            Self::Unknown { task }
            | Self::Active { task, .. }
            | Self::StillDetached { task, .. }
            | Self::Closed { task }
            | Self::NothingToDecide { task, .. }
            | Self::NoLateReport { task, .. }
            | Self::Store { task, .. } => task,
            Self::Output(problem) => problem.task(),
        }
    }
}

/// The ids of late artifacts are for the caller alone.
impl From<ReconcileError> for TaskError {
    fn from(error: ReconcileError) -> Self {
        match error {
            ReconcileError::Output(problem) => problem.to_task_error(),
            ReconcileError::Store { problem, .. } => problem.to_task_error(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

/// Why a word is not needed.
fn reason(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Completed => "its result stands",
        TaskStatus::InputRequired => "it goes on with an answer",
        _ => "its next attempt needs no word, so run it again",
    }
}
