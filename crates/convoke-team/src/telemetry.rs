//! Telling observer and sink what happens, so that neither can hurt the work.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tracing::Span;

use convoke_core::{AgentId, SessionId, TaskError, TaskId, TaskStatus};
use convoke_observability::{AnySink, EventIds, EventSink as _, is_taken};
use convoke_registry::{CoordinationEvents, CoordinationMoment};

use crate::{TeamEvent, TeamEventKind, TeamObserver, clock::Clock};

/// What a run does where an observer or a sink fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TelemetryFailures {
    /// The failure is counted into the report.
    #[default]
    Isolate,
    /// The run returns [`TeamError::Telemetry`](convoke_registry::TeamError::Telemetry), which holds the report. A failure
    /// before the executor is called ends the attempt as failed, so that nothing happens that was not recorded, and the
    /// id can be tried again; what was committed is never lost. A pause whose answer had started is used up by it.
    Propagate,
}

/// Where events go.
pub(crate) struct Telemetry {
    observer: Option<Box<dyn TeamObserver>>,
    sink: Option<(AnySink, EventIds)>,
    clock: Arc<Clock>,
    failures: AtomicU64,
}

/// A task as its events name it.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) session: SessionId,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) agent: Option<AgentId>,
    pub(crate) trace_id: Option<Arc<str>>,
    /// The task's span, from its admission on.
    pub(crate) span: Span,
}

impl Telemetry {
    pub(crate) fn new(
        observer: Option<Box<dyn TeamObserver>>,
        sink: Option<(AnySink, EventIds)>,
        clock: Arc<Clock>,
    ) -> Self {
        Self { observer, sink, clock, failures: AtomicU64::new(0) }
    }

    /// Whether anybody listens.
    pub(crate) fn is_on(&self) -> bool {
        self.observer.is_some() || self.sink.is_some()
    }

    /// How many events were not taken since the runtime was built, late ones included.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Tells observer and sink; answers how many of them failed. Makes nothing where nobody listens.
    pub(crate) fn tell(
        &self,
        kind: TeamEventKind,
        subject: &Subject,
        status: TaskStatus,
        error: Option<&TaskError>,
        elapsed: Duration,
    ) -> u32 {
        if !self.is_on() {
            return 0;
        }
        let event = TeamEvent {
            kind,
            session: subject.session.clone(),
            task: subject.task.clone(),
            attempt: subject.attempt,
            agent: subject.agent.clone(),
            trace_id: subject.trace_id.clone(),
            status,
            code: error.map(TaskError::code),
            text: error.map(|error| Cow::Owned(error.message().to_owned())),
            elapsed,
        };
        let mut failed = 0;
        // In the task's span, so that what a sink makes of the event is its child.
        subject.span.in_scope(|| {
            if let Some(observer) = &self.observer {
                failed += u32::from(!is_taken(|| observer.observe(&event)));
            }
            if let Some((sink, ids)) = &self.sink {
                let event = event.into_event(ids.next_id(), self.clock.unix_millis(Instant::now()));
                failed += u32::from(!is_taken(|| sink.publish(event)));
            }
        });
        self.counted(failed)
    }

    /// The same for what a coordinated task tells of itself, whose observer is its own.
    pub(crate) fn tell_own(
        &self,
        events: &dyn CoordinationEvents,
        moment: &CoordinationMoment<'_>,
        span: &Span,
    ) -> u32 {
        let failed = span.in_scope(|| {
            let mut failed = u32::from(!is_taken(|| events.observe(moment)));
            if let Some((sink, ids)) = &self.sink {
                let unix_millis = self.clock.unix_millis(Instant::now());
                let publish = || sink.publish(events.to_event(moment, ids.next_id(), unix_millis));
                failed += u32::from(!is_taken(publish));
            }
            failed
        });
        self.counted(failed)
    }

    fn counted(&self, failed: u32) -> u32 {
        self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        failed
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("observer", &self.observer.is_some())
            .field("sink", &self.sink.is_some())
            .finish_non_exhaustive()
    }
}
