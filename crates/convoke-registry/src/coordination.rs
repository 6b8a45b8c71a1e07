//! Coordinated tasks: what one does, what may refuse it, what it tells of itself, and how it fails.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use convoke_core::{
    ErrorCode, SessionId, TaskError, TaskId, TaskOutcome, TaskOutput, TaskStatus, error_chain,
};
use convoke_observability::{Event, EventId, ObserverError};

use crate::CoordinatedContext;

/// What runs before a coordinated task is admitted, and may refuse it.
pub type CoordinationCheck = Box<dyn FnOnce() -> Result<(), TaskError> + Send>;

/// What a coordinated task does.
pub type CoordinationBody =
    Box<dyn FnOnce(CoordinatedContext) -> BoxFuture<'static, Result<TaskOutcome, CoordinationError>> + Send>;

/// A task of a session that nobody in particular does, as [`TeamHandle::coordinate`](crate::TeamHandle::coordinate) runs
/// it: its body, what may refuse it, and what it tells.
pub struct Coordination {
    check: Option<CoordinationCheck>,
    body: CoordinationBody,
    events: Option<Arc<dyn CoordinationEvents>>,
}

impl Coordination {
    /// A task that `body` does; without a check, and silent.
    pub fn new<B, F>(body: B) -> Self
    where
        B: FnOnce(CoordinatedContext) -> F + Send + 'static,
        F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
    {
        Self { check: None, body: Box::new(|ctx| Box::pin(body(ctx))), events: None }
    }

    /// Calls `check` before anything is touched; its error refuses the task, and no record changes. Not called for a
    /// request that is refused anyway, was cancelled before, or is answered by the record of its task.
    #[must_use]
    pub fn with_check(mut self, check: impl FnOnce() -> Result<(), TaskError> + Send + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Tells of its start and its end in words of its own, where a task of an agent has its four events.
    #[must_use]
    pub fn with_events(mut self, events: impl CoordinationEvents) -> Self {
        self.events = Some(Arc::new(events));
        self
    }

    /// The check, the body and the events.
    pub fn into_parts(
        self,
    ) -> (Option<CoordinationCheck>, CoordinationBody, Option<Arc<dyn CoordinationEvents>>) {
        (self.check, self.body, self.events)
    }
}

impl fmt::Debug for Coordination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordination")
            .field("check", &self.check.is_some())
            .field("events", &self.events.is_some())
            .finish_non_exhaustive()
    }
}

/// Which moment of a coordinated task is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoordinationStage {
    /// Its body is about to be called.
    Started,
    /// It has ended, or was refused.
    Ended,
}

/// A moment of a coordinated task, from which its events are made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoordinationMoment<'a> {
    /// Which one.
    pub stage: CoordinationStage,
    /// The session of the task.
    pub session: &'a SessionId,
    /// The task.
    pub task: &'a TaskId,
    /// Which execution of the task; 0 where nothing was admitted.
    pub attempt: u32,
    /// The trace that the request belongs to.
    pub trace_id: Option<&'a Arc<str>>,
    /// Where the task stands.
    pub status: TaskStatus,
    /// Why it did not complete.
    pub error: Option<&'a TaskError>,
    /// How long since the first poll of the run.
    pub elapsed: Duration,
}

impl<'a> CoordinationMoment<'a> {
    /// A moment of `task`, without an attempt, a trace, an error or a time.
    pub fn new(
        stage: CoordinationStage,
        session: &'a SessionId,
        task: &'a TaskId,
        status: TaskStatus,
    ) -> Self {
        Self {
            stage,
            session,
            task,
            attempt: 0,
            trace_id: None,
            status,
            error: None,
            elapsed: Duration::ZERO,
        }
    }
}

/// What a coordinated task tells of itself.
///
/// # Contract
///
/// Called outside all locks, on the way of the task, which waits for it: it must not block. A task that is admitted and
/// begins has both stages; one that is refused, or stopped before it begins, only the end.
///
/// # Errors
///
/// What was not taken counts as any event that was not: see `TelemetryFailures` of the team runtime.
///
/// # Panics
///
/// Taken as failures.
pub trait CoordinationEvents: Send + Sync + 'static {
    /// Tells whoever observes this task.
    ///
    /// # Errors
    ///
    /// Whatever kept that from taking it.
    fn observe(&self, moment: &CoordinationMoment<'_>) -> Result<(), ObserverError>;

    /// The same for the sink of the runtime; called only where there is one.
    fn to_event(&self, moment: &CoordinationMoment<'_>, id: EventId, unix_millis: u64) -> Event;
}

/// Why the body of a coordinated task has no outcome, and what there is all the same.
///
/// Any error becomes one by `?`. A [`TaskError`] keeps its code and its text; every other is an
/// [`execution_failed`](ErrorCode::ExecutionFailed) whose text is private to the caller. Like
/// [`ExecutorError`](convoke_core::ExecutorError) it does not implement [`Error`](std::error::Error) itself.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinationError {
    error: TaskError,
    output: Option<Box<TaskOutput>>,
}

impl CoordinationError {
    /// A code and a text that every observer may read.
    pub fn new(error: TaskError) -> Self {
        Self { error, output: None }
    }

    /// Keeps what there is in the report; the session does not publish it.
    #[must_use]
    pub fn with_output(mut self, output: TaskOutput) -> Self {
        self.output = Some(Box::new(output));
        self
    }

    /// The error.
    pub fn error(&self) -> &TaskError {
        &self.error
    }

    /// The error, and what there is.
    pub fn into_parts(self) -> (TaskError, Option<TaskOutput>) {
        (self.error, self.output.map(|output| *output))
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for CoordinationError {
    fn from(error: E) -> Self {
        let known: &dyn Any = &error;
        Self::new(match known.downcast_ref::<TaskError>() {
            Some(error) => error.clone(),
            None => TaskError::new(ErrorCode::ExecutionFailed, "coordinated task returned an error")
                .with_detail(error_chain(&error)),
        })
    }
}
