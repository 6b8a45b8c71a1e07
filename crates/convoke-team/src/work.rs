//! The work of one attempt as its driver sees it: its beginning, and its end or that of the grace after a stop.

use std::{mem, sync::Arc};

use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, field::display};

use convoke_core::{ErrorCode, Lineage, Scope, TaskError, TaskStatus, Timing};
use convoke_observability::drop_isolated;
use convoke_registry::{LeaseMark, RunningTask, TaskDriver, TeamHandle};
use convoke_session::{Admission, LateWriteHook, Session};

use crate::{
    TeamEventKind,
    caller::TaskSpan,
    ending::{Ending, StopCause},
    execution::{AfterAbandonment, Execution, Work, WorkEnd, end_nested, end_of_detached},
    outcome::{Conclusion, Worker},
    prepared::{Answer, Prepared},
};

/// Work that was begun, as its driver has it.
struct Begun {
    began: Instant,
    mark: LeaseMark,
    scope: Scope,
    ending: Arc<Ending>,
    ended: oneshot::Receiver<WorkEnd>,
}

/// How the work of an attempt ended for its caller.
struct Concluded {
    conclusion: Conclusion,
    at: Instant,
    is_detached: bool,
}

impl Prepared {
    /// Works, and settles what came of it.
    pub(crate) async fn work(
        mut self: Box<Self>,
        mut admission: Admission,
        work: Work,
        driver: Option<&mut TaskDriver>,
    ) -> Answer {
        let mut work = Some(work);
        // A call of its own, so that the future has no room for what only the beginning needs.
        let mut begun = match self.begin(&mut admission, &mut work, driver) {
            Ok(begun) => begun,
            Err(error) => {
                // It may hold the last copy of the host's executor, or its body.
                drop_isolated(work);
                return self.settle(admission, Conclusion::of_error(error));
            }
        };
        let Concluded { conclusion, at, is_detached } = self.conclude(&mut begun).await;
        let Begun { began, scope, mut ended, .. } = begun;
        // Also where the work goes on, detached.
        end_nested(&scope, &self.shared);

        let timing = Timing::new(began - self.origin.started, at.saturating_duration_since(began));
        let mut report = self.report(conclusion, timing);
        report.detached = is_detached;
        if !is_detached {
            return self.commit(admission, report);
        }
        let (shared, session, subject) =
            (Arc::clone(&self.shared), admission.session().clone(), self.subject.clone());
        let started = self.origin.started;
        let finished = self.commit(admission, report);
        // Only now may the end of detached work be told: events keep their order, and the record knows that it is detached.
        // Where the work is gone already, because the tokio runtime ends, nobody else will tell.
        if matches!(ended.try_recv(), Err(TryRecvError::Closed)) {
            end_of_detached(&shared, &session, &subject, started, None);
        }
        finished
    }

    /// Begins the work, on a task of its own; where it may not, the capacity goes back at once.
    fn begin(
        &mut self,
        admission: &mut Admission,
        work: &mut Option<Work>,
        mut driver: Option<&mut TaskDriver>,
    ) -> Result<Begun, TaskError> {
        // The grant may have crossed a stop: then nothing was started.
        if let Some(cause) = self.is_stopped() {
            return Err(cause.error("before it was started"));
        }
        let agent = work.as_ref().and_then(Work::agent);
        if let Some(agent) = agent {
            self.subject.span.record("agent", display(agent));
            self.subject.agent = Some(agent.clone());
        }
        self.tell(TeamEventKind::Selected, TaskStatus::Submitted, None);
        // Before the start, which would use up the pause that a request answers.
        if let Some(error) = self.untold() {
            return Err(error);
        }
        let late = self.late_writes(admission.session());
        let handle = match agent {
            Some(agent) => admission.start(agent, late),
            None => admission.start_coordinated(late),
        };
        if let Some(driver) = &driver {
            driver.set_status(TaskStatus::Working);
        }
        self.tell(TeamEventKind::Started, TaskStatus::Working, None);
        if let Some(error) = self.untold() {
            return Err(error);
        }
        let began = Instant::now();
        let mark = work
            .as_ref()
            .map(Work::mark)
            .ok_or_else(|| StopCause::Cancelled.error("before it was started"))?;
        let scope = self.scope(&mark);
        let (end, ended) = oneshot::channel();
        let ending = Arc::new(Ending::default());
        // The executor gets the request itself; what is left of it here are the host's own notes.
        let metadata = self.request.metadata.clone();
        let execution = Box::new(Execution {
            work: work.take(),
            request: Some(mem::take(&mut self.request)),
            handle,
            team: TeamHandle::new(&self.shared).for_task(scope.clone()),
            previous: admission.previous(),
            progress: driver.as_mut().and_then(|driver| driver.progress()),
            after: AfterAbandonment {
                scope: scope.clone(),
                shared: Arc::clone(&self.shared),
                ending: Arc::clone(&ending),
                end: Some(end),
                session: admission.session().clone(),
                subject: self.subject.clone(),
                began,
                late: None,
                started: self.origin.started,
            },
        });
        self.request.metadata = metadata;
        let span = self.subject.span.clone();
        drop(tokio::spawn(execution.run().instrument(span)));
        Ok(Begun { began, mark, scope, ending, ended })
    }

    /// What the work inherits, and hands down.
    fn scope(&mut self, mark: &LeaseMark) -> Scope {
        let Self { subject, shared, .. } = &*self;
        let mut entry = Lineage::new(subject.session.clone(), subject.task.clone(), subject.attempt);
        entry.agent.clone_from(&subject.agent);
        let running = RunningTask::new(&shared.slots, mark);
        // Its token is its own, signalled by the driver alone: a stop is told only once its cause is known.
        let scope = match self.origin.caller.scope() {
            Some(parent) => parent.child().with_cancellation(CancellationToken::new()),
            None => Scope::root(),
        };
        let scope = scope
            .of(entry)
            .with_deadline(self.deadline)
            .with_trace_id(subject.trace_id.clone())
            .with_extension(running)
            .with_budget(self.budget.take());
        if self.subject.span.is_none() {
            scope
        } else {
            scope.with_extension(TaskSpan(self.subject.span.clone()))
        }
    }

    /// Waits for the end of the work: its own, or that of the grace after a stop.
    async fn conclude(&self, begun: &mut Begun) -> Concluded {
        let worker = Worker(self.subject.agent.as_ref());
        let cause = tokio::select! {
            biased;
            end = &mut begun.ended => return concluded(worker, end.ok()),
            cause = self.stopped() => cause,
        };
        begun.ending.stop(cause);
        begun.scope.cancellation().cancel();
        tokio::select! {
            biased;
            end = &mut begun.ended => return concluded(worker, end.ok()),
            () = sleep(self.shared.grace) => {}
        }
        if !begun.ending.give_up() {
            // It ended at the last moment, and is about to say how.
            return concluded(worker, (&mut begun.ended).await.ok());
        }
        begun.mark.detach();
        if let Some(running) = RunningTask::of(&begun.scope, &self.shared.slots) {
            running.give_up();
        }
        let (subject, mark) = (self.subject.clone(), begun.mark.clone());
        self.shared.detached.add(subject, mark, self.origin.started, self.under_way.clone());
        let doing = "while it was worked on, and the work goes on, detached";
        Concluded { conclusion: Conclusion::of_stop(cause, doing), at: Instant::now(), is_detached: true }
    }

    fn late_writes(&self, session: &Session) -> LateWriteHook {
        if !self.shared.telemetry.is_on() {
            return LateWriteHook::none();
        }
        let (shared, subject, started) =
            (Arc::clone(&self.shared), self.subject.clone(), self.origin.started);
        let session = session.clone();
        LateWriteHook::new(move |write| {
            let Some(status) = session.snapshot().task(&write.task).map(|record| record.status) else {
                return;
            };
            shared.telemetry.tell(TeamEventKind::LateWriteRefused, &subject, status, None, started.elapsed());
        })
    }
}

/// What the work said; nothing where its task was dropped, which is where the tokio runtime ends.
fn concluded(worker: Worker<'_>, end: Option<WorkEnd>) -> Concluded {
    let Some(WorkEnd { said, asked_to_stop, at }) = end else {
        let text = "the tokio runtime dropped the work; keep it alive until its tasks have ended";
        let conclusion = Conclusion::of_error(TaskError::new(ErrorCode::ExecutionFailed, text));
        return Concluded { conclusion, at: Instant::now(), is_detached: false };
    };
    Concluded { conclusion: Conclusion::of_work(worker, said, asked_to_stop), at, is_detached: false }
}
