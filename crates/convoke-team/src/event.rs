//! What a runtime tells its observer: typed events, without content.

use std::{borrow::Cow, sync::Arc, time::Duration};

use convoke_core::{AgentId, ErrorCode, SessionId, TaskId, TaskStatus};
use convoke_observability::{Event, EventId, ObserverError};
use convoke_registry::CoordinationStage;

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TeamEventKind {
    /// The task was admitted.
    Submitted,
    /// An agent was chosen, and its lease and a slot were taken.
    Selected,
    /// The agent's executor is about to be called.
    Started,
    /// Ended well.
    Completed,
    /// Paused for an answer.
    InputRequired,
    /// Ended badly.
    Failed,
    /// Could not be done as things stand.
    Blocked,
    /// Stopped on request.
    Cancelled,
    /// Stopped by its deadline.
    TimedOut,
    /// Work that nobody waited for any more has ended, and its lease is free.
    DetachedEnded,
    /// An attempt that has ended tried to write to the session, and was refused.
    LateWriteRefused,
    /// It was decided what becomes of a task that was given up.
    Reconciled,
    /// Detached work was given up: its slot and its record are free.
    Forfeited,
}

impl TeamEventKind {
    /// The name in `snake_case`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Selected => "selected",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::InputRequired => "input_required",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::DetachedEnded => "detached_ended",
            Self::LateWriteRefused => "late_write_refused",
            Self::Reconciled => "reconciled",
            Self::Forfeited => "forfeited",
        }
    }

    /// Whether it tells of the life of an attempt, and not of what comes after.
    pub(crate) fn is_of_life(self) -> bool {
        !matches!(self, Self::DetachedEnded | Self::LateWriteRefused | Self::Reconciled | Self::Forfeited)
    }

    /// Which moment of a coordinated task this is; none where that has no such moment.
    pub(crate) fn stage(self) -> Option<CoordinationStage> {
        match self {
            Self::Submitted | Self::Selected => None,
            Self::Started => Some(CoordinationStage::Started),
            _ => self.is_of_life().then_some(CoordinationStage::Ended),
        }
    }

    /// The event that tells of an attempt's end with `status`.
    pub(crate) fn of_end(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Completed => Self::Completed,
            TaskStatus::InputRequired => Self::InputRequired,
            TaskStatus::Blocked => Self::Blocked,
            TaskStatus::Cancelled => Self::Cancelled,
            TaskStatus::TimedOut => Self::TimedOut,
            TaskStatus::Failed | TaskStatus::Submitted | TaskStatus::Working => Self::Failed,
        }
    }
}

/// What happened to a task, when, and by whom.
///
/// It has no field for what the task is about: no input, no output, nothing that an executor, a panic or a provider
/// said. [`text`](Self::text) is the SDK's own, or what an executor declared public.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TeamEvent {
    /// What happened.
    pub kind: TeamEventKind,
    /// The session of the task.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Which execution of the task; 0 where nothing was admitted.
    pub attempt: u32,
    /// The agent, once one is chosen.
    pub agent: Option<AgentId>,
    /// The trace that the request belongs to.
    pub trace_id: Option<Arc<str>>,
    /// Where the task stands after this.
    pub status: TaskStatus,
    /// Why it did not complete.
    pub code: Option<ErrorCode>,
    /// The same for a person.
    pub text: Option<Cow<'static, str>>,
    /// How long since the first poll of the run.
    pub elapsed: Duration,
}

impl TeamEvent {
    /// The same as a common event, for sinks that take events of every kind. `unix_millis` is the time of day.
    pub fn into_event(self, id: EventId, unix_millis: u64) -> Event {
        let mut event = Event::new(id, unix_millis, "team", self.kind.as_str(), self.task.clone());
        event.trace_id = self.trace_id;
        event.session = Some(self.session);
        event.agent = self.agent;
        event.task = Some(self.task);
        event.attempt = Some(self.attempt);
        event.status = Some(self.status.as_str());
        event.elapsed = Some(self.elapsed);
        if let Some(code) = self.code {
            event.attributes.set("code", code.as_str());
        }
        if let Some(text) = self.text {
            event.attributes.set("text", text);
        }
        event
    }
}

/// Takes the events of a runtime.
///
/// # Contract
///
/// - Called outside all locks, in order for one task, concurrently for several.
/// - It must not block: the attempt waits for it, and so does the thread that it is on. A sink that may block goes behind a
///   bounded async sink.
///
/// # Errors
///
/// Counted into the report, or returned to the caller where the runtime is built to
/// [`Propagate`](crate::TelemetryFailures::Propagate).
///
/// # Panics
///
/// Taken as errors.
pub trait TeamObserver: Send + Sync + 'static {
    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Whatever kept the observer from taking it.
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError>;
}

/// A function as an observer that never fails.
pub(crate) struct FunctionObserver<F>(pub(crate) F);

impl<F: Fn(&TeamEvent) + Send + Sync + 'static> TeamObserver for FunctionObserver<F> {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        (self.0)(event);
        Ok(())
    }
}
