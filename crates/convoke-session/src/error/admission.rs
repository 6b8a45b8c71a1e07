//! Why an attempt was not admitted.

use convoke_core::{AgentId, ErrorCode, TaskError, TaskId, TaskStatus};

use crate::{ReconcileError, SessionError, StoreError};

/// An attempt that the session did not admit; no record was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// The task's status allows no further attempt.
    #[error("task `{task}` is {status}; {}", way_out(*status))]
    Status {
        /// The task.
        task: TaskId,
        /// Its status.
        status: TaskStatus,
    },
    /// The task was abandoned.
    #[error("task `{task}` is closed for good; give the request another id")]
    Closed {
        /// The task.
        task: TaskId,
    },
    /// The task is completed, and was asked for something else; or it cannot be told, because one of the two has no
    /// [digest](crate::Attempt::digest).
    #[error(
        "request differs from the one that attempt {attempt} of task `{task}` completed; \
         read that report, or give the request another id"
    )]
    OtherRequest {
        /// The task.
        task: TaskId,
        /// The attempt that completed it.
        attempt: u32,
    },
    /// The request would abandon the task that it asks for.
    #[error(
        "request cannot abandon its own task `{task}`; retry it or accept its late report, or reconcile it instead"
    )]
    Abandon {
        /// The task.
        task: TaskId,
    },
    /// The late report was not accepted.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// Work of an earlier attempt still runs.
    #[error(
        "attempt {attempt} of task `{task}` was given up but its work still runs; try again when it has ended"
    )]
    StillDetached {
        /// The task.
        task: TaskId,
        /// The attempt whose work runs.
        attempt: u32,
    },
    /// The request answers a pause, and there is none.
    #[error(
        "task `{task}` is {}, so there is nothing to resume; send the request without `resume`",
        status.map_or("not known here", TaskStatus::as_str)
    )]
    NotPaused {
        /// The task.
        task: TaskId,
        /// Its status; `None` where the session does not know the task.
        status: Option<TaskStatus>,
    },
    /// The task paused with a token, and the request carries none.
    #[error("task `{task}` paused in attempt {attempt} with a resume token; send it back with the answer")]
    TokenMissing {
        /// The task.
        task: TaskId,
        /// The attempt that paused.
        attempt: u32,
    },
    /// The request carries another token than the task paused with.
    #[error(
        "resume token is not the one that task `{task}` paused with in attempt {attempt}; take it from that report"
    )]
    TokenMismatch {
        /// The task.
        task: TaskId,
        /// The attempt that paused.
        attempt: u32,
    },
    /// The request answers the pause of another kind of worker: a [coordinated](crate::Attempt::is_coordinated) one that of
    /// an agent, or one for an agent that of a coordinated task. The pause and its token stay.
    #[error("task `{task}` paused in attempt {attempt} {}", who_goes_on(agent.as_ref()))]
    OtherWorker {
        /// The task.
        task: TaskId,
        /// The attempt that paused.
        attempt: u32,
        /// The agent that paused it; `None` where it was a coordinated task.
        agent: Option<AgentId>,
    },
    /// The input does not fit into the session.
    #[error("input of task `{task}` does not fit: {problem}")]
    Input {
        /// The task.
        task: TaskId,
        /// What is wrong with it: [`SessionError::Full`], [`SessionError::TooLarge`] or [`SessionError::TooDeep`].
        problem: SessionError,
    },
    /// The log of the session did not take it.
    #[error("task `{task}` was not admitted: {problem}")]
    Store {
        /// The task.
        task: TaskId,
        /// What is wrong.
        problem: StoreError,
    },
}

impl AdmissionError {
    /// The machine-readable reason.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::StillDetached { .. } => ErrorCode::StillDetached,
            Self::Input { problem: SessionError::Full { .. }, .. } => ErrorCode::SessionFull,
            Self::Reconcile(error) => error.code(),
            Self::Store { .. } => ErrorCode::StoreFailed,
            _ => ErrorCode::InvalidRequest,
        }
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        match self {
            Self::Status { task, .. }
            | Self::Closed { task }
            | Self::OtherRequest { task, .. }
            | Self::Abandon { task }
            | Self::StillDetached { task, .. }
            | Self::NotPaused { task, .. }
            | Self::TokenMissing { task, .. }
            | Self::TokenMismatch { task, .. }
            | Self::OtherWorker { task, .. }
            | Self::Input { task, .. }
            | Self::Store { task, .. } => task,
            Self::Reconcile(error) => error.task(),
        }
    }
}

impl From<AdmissionError> for TaskError {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Reconcile(error) => error.into(),
            AdmissionError::Store { problem, .. } => problem.to_task_error(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

/// Who paused a task, and how its caller gets the answer there.
fn who_goes_on(agent: Option<&AgentId>) -> String {
    match agent {
        Some(agent) => {
            format!("at agent `{agent}`, which alone takes its answer; run the request, do not coordinate it")
        }
        None => {
            "as a coordinated task, whose answer no agent takes; coordinate the request, do not run it".into()
        }
    }
}

/// What a caller can do about a task whose status allows no further attempt.
fn way_out(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Completed => "read its report, or give the request another id",
        TaskStatus::TimedOut => {
            "its work may have taken effect, so reconcile it, or give the request another id"
        }
        _ => "wait for its report, or give the request another id",
    }
}
