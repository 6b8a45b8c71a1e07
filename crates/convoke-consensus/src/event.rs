//! What a consensus tells of itself: ids, states, counts; no answer travels in it.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use convoke_core::{AgentId, ErrorCode, SessionId, TaskError, TaskId, TaskStatus};
use convoke_observability::{Event, EventId, ObserverError};
use convoke_registry::{CoordinationEvents, CoordinationMoment, CoordinationStage};

/// What happened to a consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConsensusEventKind {
    /// The participants are about to be asked.
    Started,
    /// There is a verdict.
    Completed,
    /// Stopped on request.
    Cancelled,
    /// Stopped by its deadline.
    TimedOut,
    /// Refused, not reached, or failed.
    Failed,
}

impl ConsensusEventKind {
    /// The name in `snake_case`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
        }
    }
}

/// What happened to a consensus, and when. One that begins has two events, one that is refused or stopped before has one.
///
/// It has no field for what is asked or answered; [`text`](Self::text) has ids and counts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsensusEvent {
    /// What happened.
    pub kind: ConsensusEventKind,
    /// The session.
    pub session: SessionId,
    /// The task that the consensus is.
    pub consensus: TaskId,
    /// Which call of it; 0 where nothing was admitted.
    pub round: u32,
    /// How many agents are asked; 0 where that was not found out.
    pub participants: usize,
    /// The trace that the request belongs to.
    pub trace_id: Option<Arc<str>>,
    /// Where its task stands after this.
    pub status: TaskStatus,
    /// Why there is no verdict.
    pub code: Option<ErrorCode>,
    /// The same for a person.
    pub text: Option<Cow<'static, str>>,
    /// How long since the first poll.
    pub elapsed: Duration,
}

impl ConsensusEvent {
    /// The same as a common event, for sinks that take events of every kind. `unix_millis` is the time of day.
    pub fn to_event(&self, id: EventId, unix_millis: u64) -> Event {
        let participants = u64::try_from(self.participants).unwrap_or(u64::MAX);
        let mut event = Event::new(id, unix_millis, "consensus", self.kind.as_str(), self.consensus.as_str())
            .with_session(self.session.clone())
            .with_task(self.consensus.clone())
            .with_attempt(self.round)
            .with_status(self.status.as_str())
            .with_elapsed(self.elapsed)
            .with_attribute("participants", participants);
        if let Some(trace_id) = &self.trace_id {
            event = event.with_trace_id(Arc::clone(trace_id));
        }
        if let Some(code) = self.code {
            event = event.with_attribute("code", code.as_str());
        }
        if let Some(text) = &self.text {
            event = event.with_attribute("text", text.clone());
        }
        event
    }
}

/// Takes the events of a consensus.
///
/// # Contract
///
/// Called outside all locks, the start before the end. It must not block: the task waits for it.
///
/// # Errors
///
/// Counted into the report, or returned to the caller, as those of the runtime's own observer.
///
/// # Panics
///
/// Taken as errors.
pub trait ConsensusObserver: Send + Sync + 'static {
    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Whatever kept the observer from taking it.
    fn observe(&self, event: &ConsensusEvent) -> Result<(), ObserverError>;
}

/// Any observer.
#[derive(Clone)]
pub(crate) struct Observer(pub(crate) Arc<dyn ConsensusObserver>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// A function as an observer that never fails.
pub(crate) struct FunctionObserver<F>(pub(crate) F);

impl<F: Fn(&ConsensusEvent) + Send + Sync + 'static> ConsensusObserver for FunctionObserver<F> {
    fn observe(&self, event: &ConsensusEvent) -> Result<(), ObserverError> {
        (self.0)(event);
        Ok(())
    }
}

/// Who is asked, once that is found out.
pub(crate) type Eligible = Arc<OnceLock<Vec<AgentId>>>;

/// What the runtime asks for the events of a consensus.
pub(crate) struct Events {
    pub(crate) observer: Option<Observer>,
    pub(crate) eligible: Eligible,
}

impl Events {
    fn event(&self, moment: &CoordinationMoment<'_>) -> ConsensusEvent {
        let kind = match (moment.stage, moment.status) {
            (CoordinationStage::Started, _) => ConsensusEventKind::Started,
            (_, TaskStatus::Completed) => ConsensusEventKind::Completed,
            (_, TaskStatus::Cancelled) => ConsensusEventKind::Cancelled,
            (_, TaskStatus::TimedOut) => ConsensusEventKind::TimedOut,
            _ => ConsensusEventKind::Failed,
        };
        ConsensusEvent {
            kind,
            session: moment.session.clone(),
            consensus: moment.task.clone(),
            round: moment.attempt,
            participants: self.eligible.get().map_or(0, Vec::len),
            trace_id: moment.trace_id.cloned(),
            status: moment.status,
            code: moment.error.map(TaskError::code),
            text: moment.error.map(|error| Cow::Owned(error.message().to_owned())),
            elapsed: moment.elapsed,
        }
    }
}

impl CoordinationEvents for Events {
    fn observe(&self, moment: &CoordinationMoment<'_>) -> Result<(), ObserverError> {
        self.observer.as_ref().map_or(Ok(()), |observer| observer.0.observe(&self.event(moment)))
    }

    fn to_event(&self, moment: &CoordinationMoment<'_>, id: EventId, unix_millis: u64) -> Event {
        self.event(moment).to_event(id, unix_millis)
    }
}
