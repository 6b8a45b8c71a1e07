//! Work that was begun, as the task that does it and whoever stops it share it: one of the two settles the attempt.

use std::{
    convert::Infallible,
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tracing::Span;

use convoke_core::{Scope, TaskReport, TaskRequest, TaskStatus, Timing};
use convoke_registry::{LeaseMark, ProgressSender, RunningTask};
use convoke_session::{Admission, Session, SessionHandle};

use crate::{
    TeamEventKind,
    aftermath::Aftermath,
    caller::TaskSpan,
    ending::{End, Ending, StopCause},
    execution::Said,
    outcome::{Conclusion, Worker},
    prepared::Prepared,
    settled::Settled,
    shared::Shared,
    stops::Stops,
    telemetry::Subject,
};

/// Work that was begun. The task that does it has it, and so has a watch over it, where something asks it to stop.
pub(crate) struct Begun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scope: Scope,
    pub(crate) ending: Ending,
    pub(crate) stops: Stops,
    /// Where a watch runs.
    pub(crate) runtime: Handle,
    /// The first poll of its run.
    started: Instant,
    began: Instant,
    /// Until whom `ending` decides for takes it out.
    unsettled: Mutex<Option<Unsettled>>,
    aftermath: Aftermath<Box<Detached>, Option<Box<TaskReport>>>,
}

/// What settles an attempt. In the order in which it is dropped where nobody does, because the tokio runtime ends: the
/// record first, then what tells of it.
struct Unsettled {
    admission: Admission,
    prepared: Box<Prepared>,
    mark: LeaseMark,
    /// Until the work has it.
    given: Option<Given>,
    /// Goes when it is taken out, so that the watch hears of that.
    watch: Option<oneshot::Sender<Infallible>>,
}

/// What the work gets.
pub(crate) struct Given {
    pub(crate) handle: SessionHandle,
    pub(crate) previous: Option<Arc<TaskReport>>,
    pub(crate) progress: Option<ProgressSender>,
}

/// What the end of detached work is told with.
struct Detached {
    session: Session,
    subject: Subject,
    started: Instant,
}

impl Begun {
    /// Work that begins now, on this runtime, with what it is given and what it inherits.
    pub(crate) fn new(
        admission: Admission,
        prepared: Box<Prepared>,
        mark: LeaseMark,
        scope: Scope,
        given: Given,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(&prepared.shared),
            scope,
            ending: Ending::default(),
            stops: prepared.stops.clone(),
            runtime: Handle::current(),
            started: prepared.origin.started,
            began: Instant::now(),
            unsettled: Mutex::new(Some(Unsettled {
                admission,
                prepared,
                mark,
                given: Some(given),
                watch: None,
            })),
            aftermath: Aftermath::new(),
        })
    }

    /// The task's span, which its work is in.
    pub(crate) fn span(&self) -> Span {
        self.scope.get::<TaskSpan>().map_or_else(Span::none, |span| span.0.clone())
    }

    /// What the work gets, and the request, once. What is left of that here are the host's own notes.
    pub(crate) fn give(&self) -> Option<(Given, TaskRequest)> {
        let mut unsettled = self.unsettled.lock();
        let Unsettled { given, prepared, .. } = unsettled.as_mut()?;
        let given = given.take()?;
        let metadata = prepared.request.metadata.clone();
        let request = mem::take(&mut *prepared.request);
        prepared.request.metadata = metadata;
        Some((given, request))
    }

    /// Ready when nobody waits for the answer any more, where that is a stop.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.unsettled.lock() {
            Some(unsettled) => {
                unsettled.prepared.asker.as_mut().map_or(Poll::Pending, |asker| asker.poll_gone(cx))
            }
            None => Poll::Pending,
        }
    }

    /// The work has ended: settles the attempt, unless that was settled without waiting for it.
    pub(crate) fn end(&self, said: Said, decided: End, at: Instant) -> Settled {
        let End::Ended(asked_to_stop) = decided else {
            self.ended_late(self.late_report(said));
            return Settled::Now(None);
        };
        let Some(Unsettled { admission, mut prepared, .. }) = self.take() else { return Settled::Now(None) };
        let worker = Worker(prepared.subject.agent.as_ref());
        let conclusion = Conclusion::of_work(worker, said, asked_to_stop);
        let report = prepared.report(conclusion, self.timing(at));
        prepared.commit(admission, report)
    }

    /// Settles the attempt without waiting any longer for its work, which goes on; nothing where that has ended.
    pub(crate) async fn give_up(&self, cause: StopCause) {
        if !self.ending.give_up() {
            return;
        }
        let Some(Unsettled { admission, mut prepared, mark, .. }) = self.take() else { return };
        mark.detach();
        if let Some(running) = RunningTask::of(&self.scope, &self.shared.slots) {
            running.give_up();
        }
        let started = self.started;
        let (session, subject) = (admission.session().clone(), prepared.subject.clone());
        self.shared.detached.add(subject.clone(), mark, started, prepared.under_way.clone());
        let conclusion = Conclusion::of_stop(cause, "while it was worked on, and the work goes on, detached");
        let at = Instant::now();
        self.end_nested();
        let mut report = prepared.report(conclusion, self.timing(at));
        report.detached = true;
        let reply = prepared.commit(admission, report).reply().await;
        // Only now may the end of detached work be told: events keep their order, and the record knows that it is detached.
        if let Some((detached, late)) =
            self.aftermath.settled(Box::new(Detached { session, subject, started }))
        {
            detached.end(&self.shared, late);
        }
        if let Some(reply) = reply {
            reply.send();
        }
    }

    /// The work is gone without an end of its own, because the tokio runtime ends.
    pub(crate) fn lost(&self) {
        match self.ending.end() {
            End::Ended(_) => drop(self.take()),
            End::Abandoned => self.ended_late(None),
        }
    }

    /// Refuses whatever the work still asks for, and stops what it has asked for.
    pub(crate) fn end_nested(&self) {
        if let Some(running) = RunningTask::of(&self.scope, &self.shared.slots) {
            running.end();
        }
        self.scope.cancel();
    }

    /// Takes out what settles the attempt, once.
    fn take(&self) -> Option<Unsettled> {
        self.unsettled.lock().take()
    }

    /// Says how the watch hears that it is over; `None` where there is one, or nothing to watch.
    pub(crate) fn begin_watch(&self) -> Option<oneshot::Receiver<Infallible>> {
        let mut unsettled = self.unsettled.lock();
        let unsettled = unsettled.as_mut().filter(|unsettled| unsettled.watch.is_none())?;
        let (watch, is_over) = oneshot::channel();
        unsettled.watch = Some(watch);
        Some(is_over)
    }

    fn timing(&self, at: Instant) -> Timing {
        Timing::new(self.began - self.started, at.saturating_duration_since(self.began))
    }

    /// The report of what came late; none where the work says no more than that it stopped. The session stamps it with
    /// what it belongs to.
    fn late_report(&self, said: Said) -> Option<Box<TaskReport>> {
        let entry = self.scope.lineage().next()?;
        let Conclusion { status, output, pause, error } =
            Conclusion::of_work(Worker(entry.agent.as_ref()), said, None);
        if status == TaskStatus::Cancelled {
            return None;
        }
        let mut report = TaskReport::new(entry.task.clone(), entry.session.clone(), status);
        report.output = output;
        report.pause = pause;
        report.error = error;
        report.timing = self.timing(Instant::now());
        Some(Box::new(report))
    }

    /// The work has ended, and its attempt was given up before.
    fn ended_late(&self, late: Option<Box<TaskReport>>) {
        if let Some((detached, late)) = self.aftermath.ended(late) {
            detached.end(&self.shared, late);
        }
    }
}

impl Detached {
    /// Marks the end of detached work, and tells of it.
    fn end(self, shared: &Shared, late: Option<Box<TaskReport>>) {
        let Self { session, subject, started } = self;
        if !session.detached_ended(&subject.task, subject.attempt, late.map(|late| *late)) {
            return;
        }
        // Kept until all is told: a drain waits for it.
        let _under_way = shared.detached.take(&subject.session, &subject.task, subject.attempt);
        let status = session.snapshot().task(&subject.task).map(|record| record.status);
        shared.sessions.end_if_over(session.id());
        if let Some(status) = status {
            shared.telemetry.tell(TeamEventKind::DetachedEnded, &subject, status, None, started.elapsed());
        }
    }
}
