//! The driver of one attempt: admission, dispatch, work, settlement.

use std::{mem, sync::Arc};

use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, field::display};

use convoke_core::{ErrorCode, Lineage, Scope, TaskError, TaskReport, TaskStatus, Timing};
use convoke_observability::panic_detail;
use convoke_registry::{
    CoordinationBody, CoordinationCheck, Lease, LeaseMark, RunningTask, SlotRequest, TaskDriver, TeamHandle,
};
use convoke_session::{Admission, Admitted, LateWriteHook, Session};

use crate::{
    TeamEventKind,
    ending::Ending,
    execution::{AfterAbandonment, Execution, Work, WorkEnd, end_of_detached},
    outcome::{Conclusion, Worker},
    prepared::{Answer, Prepared},
};

/// What is to be done.
pub(crate) enum Job {
    /// What an agent does.
    Agent,
    /// The body of a coordinated task, once its check has passed.
    Coordinated(CoordinationCheck, CoordinationBody),
}

impl Prepared {
    /// Runs one attempt to its report: admission, dispatch, work, settlement. `driver` shows how far it is.
    pub(crate) async fn run(mut self: Box<Self>, job: Job, driver: Option<&mut TaskDriver>) -> Answer {
        if let Some(error) = self.defect() {
            return self.refuse(error);
        }
        let body = match job {
            Job::Agent => None,
            Job::Coordinated(check, body) => match passes(check) {
                Ok(()) => Some(body),
                Err(error) => return self.refuse(error),
            },
        };
        match self.admit() {
            Ok(Admitted::Attempt(admission)) => self.dispatch(admission, body, driver).await,
            Ok(Admitted::Recorded(report)) => self.recorded(report, false),
            Ok(Admitted::Accepted(report)) => self.recorded(report, true),
            Err(error) => self.refuse(error),
        }
    }

    /// Runs one attempt whose lease and slot are granted already: admission, work, settlement.
    pub(crate) async fn run_granted(mut self: Box<Self>, lease: Lease) -> Answer {
        match self.admit() {
            // The pause that it answers came after it had asked for an agent, and was another agent's.
            Ok(Admitted::Attempt(admission))
                if admission.required_agent().is_some_and(|agent| agent != *lease.agent()) =>
            {
                drop(lease);
                self.dispatch(admission, None, None).await
            }
            Ok(Admitted::Attempt(admission)) => self.work(admission, Work::Agent(lease), None).await,
            Ok(Admitted::Recorded(report)) => {
                drop(lease);
                self.recorded(report, false)
            }
            Ok(Admitted::Accepted(report)) => {
                drop(lease);
                self.recorded(report, true)
            }
            Err(error) => {
                drop(lease);
                self.refuse(error)
            }
        }
    }

    /// Waits for a slot, and for an agent unless there is a body, and works.
    async fn dispatch(
        self: Box<Self>,
        admission: Admission,
        body: Option<CoordinationBody>,
        driver: Option<&mut TaskDriver>,
    ) -> Answer {
        if let Some(cause) = self.is_stopped() {
            return self.settle(admission, Conclusion::of_stop(cause, "before it was dispatched"));
        }
        if let Some(error) = self.untold() {
            return self.settle(admission, Conclusion::of_error(error));
        }
        let granted = {
            let paused_at = admission.required_agent();
            let granted = async {
                let slots = &self.shared.slots;
                Ok(match body {
                    None => Work::Agent(slots.acquire(self.wanted(paused_at.as_ref())).await?),
                    Some(body) => {
                        let slot = SlotRequest::new(&self.subject.task).awaited_in(self.origin.awaited_in);
                        Work::Body(slots.acquire_slot(slot).await?, Some(body))
                    }
                })
            };
            tokio::select! {
                biased;
                // First, since most need not wait; a stop that it crosses is seen before anything is started.
                granted = granted => granted.map_err(|refusal: convoke_registry::Refusal| {
                    Conclusion::of_error(refusal.into())
                }),
                cause = self.stopped() => Err(Conclusion::of_stop(cause, "while it waited for an agent")),
            }
        };
        match granted {
            Ok(work) => self.work(admission, work, driver).await,
            Err(conclusion) => self.settle(admission, conclusion),
        }
    }

    async fn work(
        mut self: Box<Self>,
        mut admission: Admission,
        work: Work,
        mut driver: Option<&mut TaskDriver>,
    ) -> Answer {
        // The grant may have crossed a stop: then nothing was started, and the capacity goes back at once.
        if let Some(cause) = self.is_stopped() {
            drop(work);
            return self.settle(admission, Conclusion::of_stop(cause, "before it was started"));
        }
        if let Some(agent) = work.agent() {
            self.subject.span.record("agent", display(agent));
            self.subject.agent = Some(agent.clone());
        }
        self.tell(TeamEventKind::Selected, TaskStatus::Submitted, None);
        // Before the start, which would use up the pause that a request answers.
        if let Some(error) = self.untold() {
            drop(work);
            return self.settle(admission, Conclusion::of_error(error));
        }
        let late = self.late_writes(admission.session());
        let handle = match work.agent() {
            Some(agent) => admission.start(agent, late),
            None => admission.start_coordinated(late),
        };
        if let Some(driver) = &driver {
            driver.set_status(TaskStatus::Working);
        }
        self.tell(TeamEventKind::Started, TaskStatus::Working, None);
        if let Some(error) = self.untold() {
            drop(work);
            return self.settle(admission, Conclusion::of_error(error));
        }
        let began = Instant::now();
        let mark = work.mark();
        let scope = self.scope(&mark);
        let (end, mut ended) = oneshot::channel();
        let ending = Arc::new(Ending::default());
        // The executor gets the request itself; what is left of it here are the host's own notes.
        let request = mem::take(&mut self.request);
        self.request.metadata.clone_from(&request.metadata);
        let execution = Box::new(Execution {
            work: Some(work),
            request,
            handle,
            team: TeamHandle::new(&self.shared).for_task(scope.clone()),
            scope: scope.clone(),
            previous: admission.previous(),
            progress: driver.as_mut().and_then(|driver| driver.progress()),
            after: AfterAbandonment {
                shared: Arc::clone(&self.shared),
                ending: Arc::clone(&ending),
                end: Some(end),
                session: admission.session().clone(),
                subject: self.subject.clone(),
                began,
                late: None,
                started: self.origin.started,
                _under_way: self.under_way.clone(),
            },
        });
        let span = self.subject.span.clone();
        drop(tokio::spawn(execution.run().instrument(span)));
        let Concluded { conclusion, at, is_detached } =
            self.conclude(&scope, &ending, &mut ended, &mark).await;
        // Whatever it still asks for is refused, and what it has asked for is stopped, before anybody hears of its end.
        if let Some(running) = RunningTask::of(&scope, &self.shared.slots) {
            running.end();
        }
        scope.cancellation().cancel();

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
        scope
            .of(entry)
            .with_deadline(self.deadline)
            .with_trace_id(subject.trace_id.clone())
            .with_extension(running)
            .with_budget(self.budget.take())
    }

    /// Waits for the end of the work: its own, or that of the grace after a stop.
    async fn conclude(
        &self,
        scope: &Scope,
        ending: &Ending,
        ended: &mut oneshot::Receiver<WorkEnd>,
        mark: &LeaseMark,
    ) -> Concluded {
        let worker = Worker(self.subject.agent.as_ref());
        let cause = tokio::select! {
            biased;
            end = &mut *ended => return concluded(worker, end.ok()),
            cause = self.stopped() => cause,
        };
        ending.stop(cause);
        scope.cancellation().cancel();
        let in_time = tokio::select! {
            biased;
            end = &mut *ended => Some(end),
            () = sleep(self.shared.grace) => None,
        };
        match in_time {
            Some(end) => concluded(worker, end.ok()),
            None if ending.give_up() => {
                mark.detach();
                self.shared.detached.add(self.subject.clone(), mark.clone(), self.origin.started);
                let doing = "while it was worked on, and the work goes on, detached";
                Concluded {
                    conclusion: Conclusion::of_stop(cause, doing),
                    at: Instant::now(),
                    is_detached: true,
                }
            }
            // It ended at the last moment, and is about to say how.
            None => concluded(worker, ended.await.ok()),
        }
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

    fn settle(mut self: Box<Self>, admission: Admission, conclusion: Conclusion) -> Answer {
        let timing = self.waited();
        let report = self.report(conclusion, timing);
        self.commit(admission, report)
    }

    /// The one commit of the attempt. What the session refuses is reported as failed, with the output kept in the report.
    fn commit(self: Box<Self>, mut admission: Admission, report: TaskReport) -> Answer {
        let settled = admission.settle(report).or_else(|refused| {
            let error = refused.to_task_error();
            let mut failed = refused.into_report();
            failed.status = TaskStatus::Failed;
            failed.pause = None;
            failed.error = Some(error);
            admission.settle(failed)
        });
        match settled {
            Ok(report) => self.finish(report),
            // The session refuses a failed report only where the attempt is not its task's latest, which this one is.
            Err(refused) => self.finish(Arc::new(refused.into_report())),
        }
    }
}

/// Calls the check of a coordinated task, which is its caller's code.
fn passes(check: CoordinationCheck) -> Result<(), TaskError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or_else(|payload| {
        let error = TaskError::new(ErrorCode::ExecutorPanicked, "check of the coordinated task panicked");
        Err(match panic_detail(payload) {
            Some(text) => error.with_detail(text),
            None => error,
        })
    })
}

/// How the work of an attempt ended for its caller.
struct Concluded {
    conclusion: Conclusion,
    at: Instant,
    is_detached: bool,
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
