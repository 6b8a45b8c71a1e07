//! Why an attempt was not settled.

use std::fmt;

use convoke_core::{ArtifactId, ErrorCode, MAX_JSON_DEPTH, TaskError, TaskId, TaskReport, TaskStatus};

use crate::{SessionError, StoreError};

/// A settlement that the session refused. Nothing was written; the report comes back.
///
/// Unless the attempt [has ended](SettleProblem::Ended), or its end is [not recorded](SettleProblem::Store), its admission is still open for another report: one that says
/// [`Failed`](TaskStatus::Failed) with [this error](Self::to_task_error) is never refused for its output, which it
/// keeps to itself, unless that [nests too deep](SettleProblem::TooDeep) to be kept at all.
#[derive(Clone, Debug, PartialEq)]
pub struct SettleError {
    problem: SettleProblem,
    report: Box<TaskReport>,
}

/// What is wrong with a settlement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettleProblem {
    /// Two artifacts of one output have one id.
    #[error(
        "attempt {attempt} of task `{task}` gave artifact `{artifact}` more than once; name each differently"
    )]
    RepeatedArtifact {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The id.
        artifact: ArtifactId,
    },
    /// The output does not fit into the session.
    #[error("output of attempt {attempt} of task `{task}` does not fit: {problem}")]
    Output {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What is wrong with it: [`SessionError::Full`] or [`SessionError::TooLarge`].
        problem: SessionError,
    },
    /// The report has data that nests more than [`MAX_JSON_DEPTH`] deep, whatever its status.
    #[error(
        "report of attempt {attempt} of task `{task}` has data that nests more than {MAX_JSON_DEPTH} levels deep; flatten it"
    )]
    TooDeep {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
    },
    /// The attempt cannot go from its status to that of the report.
    #[error("attempt {attempt} of task `{task}` is {from} and cannot become {to}; {}", legal(*from))]
    Transition {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Its status.
        from: TaskStatus,
        /// The status of the report.
        to: TaskStatus,
    },
    /// The attempt was settled before.
    #[error("attempt {attempt} of task `{task}` has already ended; its first report counts")]
    Ended {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
    },
    /// The log of the session did not take it. The attempt has ended all the same: what its record becomes is decided by
    /// the log, once that can be read. Where the settlement is not in it, the record is failed with
    /// [`store_failed`](ErrorCode::StoreFailed) and the output.
    #[error("end of attempt {attempt} of task `{task}` is not in the session: {problem}")]
    Store {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What is wrong.
        problem: StoreError,
    },
}

impl SettleProblem {
    /// The machine-readable reason: [`SessionFull`](ErrorCode::SessionFull) where there is no room,
    /// [`StoreFailed`](ErrorCode::StoreFailed) where the log failed, else
    /// [`ContractViolation`](ErrorCode::ContractViolation).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Output { problem: SessionError::Full { .. }, .. } => ErrorCode::SessionFull,
            Self::Store { .. } => ErrorCode::StoreFailed,
            _ => ErrorCode::ContractViolation,
        }
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        match self {
            Self::RepeatedArtifact { task, .. }
            | Self::Output { task, .. }
            | Self::TooDeep { task, .. }
            | Self::Transition { task, .. }
            | Self::Ended { task, .. }
            | Self::Store { task, .. } => task,
        }
    }

    /// The error as a report carries it. The ids of artifacts are the executor's own words, so they are for the caller
    /// alone.
    pub fn to_task_error(&self) -> TaskError {
        let text = match self {
            Self::RepeatedArtifact { .. } => "output has two artifacts of one id; name each differently",
            Self::Output { problem: SessionError::Full { .. }, .. } => {
                "session has no room for the output; trim it, or raise its limits"
            }
            Self::Output { .. } => "output has a value over the session's size limit; split it",
            Self::TooDeep { .. } => "output has data that nests too deep; flatten it",
            Self::Transition { .. } | Self::Ended { .. } => "attempt cannot end like this",
            Self::Store { problem, .. } => return problem.to_task_error(),
        };
        TaskError::new(self.code(), text).with_detail(self.to_string())
    }
}

impl SettleError {
    pub(crate) fn new(problem: SettleProblem, report: TaskReport) -> Self {
        Self { problem, report: Box::new(report) }
    }

    /// What is wrong.
    pub fn problem(&self) -> &SettleProblem {
        &self.problem
    }

    /// The machine-readable reason, as [`SettleProblem::code`].
    pub fn code(&self) -> ErrorCode {
        self.problem.code()
    }

    /// The error as a report carries it, as [`SettleProblem::to_task_error`].
    pub fn to_task_error(&self) -> TaskError {
        self.problem.to_task_error()
    }

    /// The report that was refused.
    pub fn report(&self) -> &TaskReport {
        &self.report
    }

    /// The report that was refused, output and all.
    pub fn into_report(self) -> TaskReport {
        *self.report
    }
}

impl fmt::Display for SettleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for SettleError {}

/// What an attempt may become instead.
fn legal(from: TaskStatus) -> &'static str {
    match from {
        TaskStatus::Submitted => "start it first, or settle it as failed, blocked, cancelled or timed_out",
        _ => "settle it with a status that is not active",
    }
}
