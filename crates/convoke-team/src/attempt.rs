//! The driver of one attempt: from its request to its settled report.

use std::{
    mem,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{
    Instrument as _, Span,
    field::{Empty, display},
};

use convoke_core::{
    AgentId, Budget, ErrorCode, TaskError, TaskId, TaskReport, TaskRequest, TaskStatus, Timing,
};
use convoke_registry::{ExecutionContext, Lease, LeaseRequest, RunOptions, TaskDriver, TeamError};
use convoke_session::{Admission, Attempt as AttemptInput, LateWriteHook, Session};

use crate::{
    TeamEventKind, TelemetryFailures,
    ending::{Ending, StopCause},
    execution::{AfterAbandonment, Execution, WorkEnd, end_of_detached},
    outcome::Conclusion,
    sessions::Lifetime,
    shared::Shared,
    telemetry::Subject,
};

/// Thirty years: tokio's timers go little further.
const FARTHEST: Duration = Duration::from_hours(24 * 365 * 30);

/// A request with everything decided that is decided at the first poll: its ids, its session, its deadline.
pub(crate) struct Prepared {
    shared: Arc<Shared>,
    request: TaskRequest,
    /// Whether the session is this run's own, and ends with it.
    lifetime: Lifetime,
    pub(crate) deadline: Option<Instant>,
    cancellation: Option<CancellationToken>,
    /// Signalled by the handle, by a dropped caller and by the end of the runtime.
    stop: CancellationToken,
    budget: Option<Budget>,
    started: Instant,
    /// The span of the caller at the first poll, which the task's own span is a child of.
    parent: Span,
    subject: Subject,
    telemetry_errors: u32,
    /// Whether the end of the attempt was told.
    has_ended: bool,
}

/// Where the tokio runtime ends before the attempt, its admission leaves a failed record, and this tells of it.
impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.has_ended && self.subject.attempt > 0 {
            let text = "the tokio runtime ended before the attempt did";
            let error = TaskError::new(ErrorCode::ExecutionFailed, text);
            self.subject.span.record("status", display(TaskStatus::Failed));
            self.tell(TeamEventKind::Failed, TaskStatus::Failed, Some(&error));
        }
        self.shared.sessions.end_if_over(&self.subject.session);
    }
}

/// The id that a request will run under.
pub(crate) fn task_id(shared: &Shared, request: &TaskRequest) -> TaskId {
    request.id.clone().unwrap_or_else(|| shared.ids.task(shared.clock.unix_millis()))
}

impl Prepared {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        mut request: TaskRequest,
        task: TaskId,
        options: RunOptions,
        stop: CancellationToken,
    ) -> Self {
        let started = Instant::now();
        let timeout = request.timeout.and_then(|timeout| started.checked_add(timeout));
        // What is further away than a timer can say is as good as no deadline.
        let farthest = started.checked_add(FARTHEST);
        let is_near = |deadline: &Instant| farthest.is_none_or(|farthest| *deadline < farthest);
        let explicit = [timeout, options.deadline].into_iter().flatten().min().filter(is_near);
        // A timeout beyond what the clock can say is none, and was said all the same.
        let is_said = request.timeout.is_some() || options.deadline.is_some();
        let default = shared.default_task_timeout.filter(|_| !is_said);
        let deadline = explicit.or_else(|| started.checked_add(default?).filter(is_near));
        let lifetime = if request.session.is_some() { Lifetime::UntilRemoved } else { Lifetime::OfItsWork };
        let session =
            request.session.take().unwrap_or_else(|| shared.ids.session(shared.clock.unix_millis()));
        request.session = Some(session.clone());
        let trace_id = request.trace_id.as_deref().filter(|_| shared.telemetry.is_on()).map(Arc::from);
        let subject = Subject { session, task, attempt: 0, agent: None, trace_id, span: Span::none() };
        Self {
            shared: Arc::clone(shared),
            request,
            lifetime,
            deadline,
            cancellation: options.cancellation,
            stop,
            budget: options.budget.or_else(|| shared.budget.clone()),
            started,
            parent: Span::current(),
            subject,
            telemetry_errors: 0,
            has_ended: false,
        }
    }

    /// What agent the request asks for. The answer to a pause goes to the agent that paused.
    pub(crate) fn wanted<'a>(&'a self, paused_at: Option<&'a AgentId>) -> LeaseRequest<'a> {
        let wanted = LeaseRequest::from(&self.request);
        match paused_at {
            Some(agent) => wanted.preferring(agent),
            None => wanted,
        }
    }

    /// Who paused the task that the request answers, as its record says before the admission.
    pub(crate) fn paused_at(&self) -> Option<AgentId> {
        self.request.resume.as_ref()?;
        let session = self.shared.sessions.get(self.subject.session.as_str())?;
        session.snapshot().task(&self.subject.task)?.agent.clone()
    }

    /// What the request itself refuses, before anything is touched.
    pub(crate) fn defect(&self) -> Option<TaskError> {
        if self.shared.root.is_cancelled() {
            let text = "runtime is gone; run tasks while a `TeamRuntime` lives";
            return Some(TaskError::new(ErrorCode::ShuttingDown, text));
        }
        Some(self.request.defect()?.into_task_error())
    }

    /// Resolves when the attempt is to stop; cancellation comes first where both hold.
    pub(crate) async fn stopped(&self) -> StopCause {
        let token = async {
            match &self.cancellation {
                Some(token) => token.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let deadline = async {
            match self.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => StopCause::Cancelled,
            () = token => StopCause::Cancelled,
            () = deadline => StopCause::Deadline,
        }
    }

    /// Whether the attempt is to stop, now.
    pub(crate) fn is_stopped(&self) -> Option<StopCause> {
        let cancelled = self.stop.is_cancelled()
            || self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled);
        if cancelled {
            return Some(StopCause::Cancelled);
        }
        self.deadline.filter(|&deadline| deadline <= Instant::now()).map(|_| StopCause::Deadline)
    }

    /// Runs one attempt to its report: admission, dispatch, work, settlement. `driver` shows how far it is.
    pub(crate) async fn run(mut self, driver: Option<&mut TaskDriver>) -> Result<TaskReport, TeamError> {
        if let Some(error) = self.defect() {
            return self.refuse(error);
        }
        let admission = match self.admit() {
            Ok(admission) => admission,
            Err(error) => return self.refuse(error),
        };
        self.dispatch(admission, driver).await
    }

    /// Waits for an agent and a slot, and works.
    async fn dispatch(
        self,
        admission: Admission,
        driver: Option<&mut TaskDriver>,
    ) -> Result<TaskReport, TeamError> {
        if let Some(cause) = self.is_stopped() {
            return self.settle(admission, Conclusion::of_stop(cause, "before it was dispatched"));
        }
        if let Some(error) = self.untold() {
            return self.settle(admission, Conclusion::of_error(error));
        }
        let lease = {
            let paused_at = admission.required_agent();
            tokio::select! {
                biased;
                cause = self.stopped() => Err(Conclusion::of_stop(cause, "while it waited for an agent")),
                lease = self.shared.slots.acquire(self.wanted(paused_at.as_ref())) => {
                    lease.map_err(|refusal| Conclusion::of_error(refusal.into()))
                }
            }
        };
        match lease {
            Ok(lease) => self.work(admission, lease, driver).await,
            Err(conclusion) => self.settle(admission, conclusion),
        }
    }

    /// Runs one attempt whose lease and slot are granted already: admission, work, settlement.
    pub(crate) async fn run_granted(mut self, lease: Lease) -> Result<TaskReport, TeamError> {
        match self.admit() {
            // The pause that it answers came after it had asked for an agent, and was another agent's.
            Ok(admission) if admission.required_agent().is_some_and(|agent| agent != *lease.agent()) => {
                drop(lease);
                self.dispatch(admission, None).await
            }
            Ok(admission) => self.work(admission, lease, None).await,
            Err(error) => {
                drop(lease);
                self.refuse(error)
            }
        }
    }

    /// Reports what never was admitted; no record changes.
    pub(crate) fn refuse(self, error: TaskError) -> Result<TaskReport, TeamError> {
        self.refuse_as(Conclusion::of_error(error))
    }

    /// Reports an end before admission; no record changes.
    pub(crate) fn refuse_as(mut self, conclusion: Conclusion) -> Result<TaskReport, TeamError> {
        let report = self.report(conclusion);
        self.finish(report)
    }

    fn admit(&mut self) -> Result<Admission, TaskError> {
        let attempt = AttemptInput::of_request(self.subject.task.clone(), &self.request);
        // Only now, since an attempt at a request that was sent under its id can be asked for again. The executor sees it.
        self.request.id = Some(self.subject.task.clone());
        let sessions = &self.shared.sessions;
        let admission =
            sessions.admit(&self.subject.session, self.shared.session_limits, self.lifetime, attempt)?;
        self.subject.attempt = admission.attempt();
        self.subject.span = tracing::info_span!(
            target: "convoke",
            parent: &self.parent,
            "task",
            task = %self.subject.task,
            session = %self.subject.session,
            attempt = self.subject.attempt,
            agent = Empty,
            status = Empty,
        );
        self.tell(TeamEventKind::Submitted, TaskStatus::Submitted, None);
        Ok(admission)
    }

    async fn work(
        mut self,
        mut admission: Admission,
        lease: Lease,
        driver: Option<&mut TaskDriver>,
    ) -> Result<TaskReport, TeamError> {
        let agent = lease.agent().clone();
        // The grant may have crossed a stop: then nothing was started, and the capacity goes back at once.
        if let Some(cause) = self.is_stopped() {
            drop(lease);
            return self.settle(admission, Conclusion::of_stop(cause, "before it was started"));
        }
        self.subject.span.record("agent", display(&agent));
        self.subject.agent = Some(agent.clone());
        self.tell(TeamEventKind::Selected, TaskStatus::Submitted, None);
        // Before the start, which would use up the pause that a request answers.
        if let Some(error) = self.untold() {
            drop(lease);
            return self.settle(admission, Conclusion::of_error(error));
        }
        let session = admission.session().clone();
        let handle = admission.start(&agent, self.late_writes(&session));
        if let Some(driver) = &driver {
            driver.set_status(TaskStatus::Working);
        }
        self.tell(TeamEventKind::Started, TaskStatus::Working, None);
        if let Some(error) = self.untold() {
            drop(lease);
            return self.settle(admission, Conclusion::of_error(error));
        }
        let began = Instant::now();
        let mut ctx = ExecutionContext::new(agent.clone(), handle)
            .with_deadline(self.deadline)
            .with_previous(admission.previous())
            .with_budget(self.budget.take());
        if let Some(driver) = driver {
            ctx = ctx.with_updates_of(driver);
        }
        let Concluded { conclusion, at, detached } = self.execute(session, &agent, ctx, lease).await;
        let mut report = self.report(conclusion);
        report.timing = Timing::new(began - self.started, at.saturating_duration_since(began));
        report.detached = detached.is_some();
        let (shared, session, subject) =
            (Arc::clone(&self.shared), admission.session().clone(), self.subject.clone());
        let started = self.started;
        let finished = self.commit(admission, report);
        // Only now may the end of detached work be told: events keep their order, and the record knows that it is detached.
        // Where the work is gone already, because the tokio runtime ends, nobody else will tell.
        if detached.is_some_and(|settled| settled.send(()).is_err()) {
            end_of_detached(&shared, &session, &subject, started);
        }
        finished
    }

    /// Calls the executor on a task of its own and waits: for its end, or for a stop and then for the grace.
    async fn execute(
        &mut self,
        session: Session,
        agent: &AgentId,
        ctx: ExecutionContext,
        lease: Lease,
    ) -> Concluded {
        let ending = Arc::new(Ending::default());
        let (end, mut ended) = oneshot::channel();
        let (settled_sender, settled) = oneshot::channel();
        let signal = ctx.cancellation().clone();
        let mark = lease.mark();
        // The executor gets the request itself; what is left of it here are the host's own notes.
        let request = mem::take(&mut self.request);
        self.request.metadata.clone_from(&request.metadata);
        let execution = Execution {
            lease,
            request,
            ctx,
            end,
            after: AfterAbandonment {
                shared: Arc::clone(&self.shared),
                ending: Arc::clone(&ending),
                settled,
                session,
                subject: self.subject.clone(),
                started: self.started,
            },
        };
        let span = self.subject.span.clone();
        drop(tokio::spawn(Box::pin(execution.run().instrument(span))));
        let cause = tokio::select! {
            biased;
            end = &mut ended => return concluded(agent, end.ok()),
            cause = self.stopped() => cause,
        };
        ending.stop(cause);
        signal.cancel();
        let in_time = tokio::select! {
            biased;
            end = &mut ended => Some(end),
            () = sleep(self.shared.grace) => None,
        };
        match in_time {
            Some(end) => concluded(agent, end.ok()),
            None if ending.give_up() => {
                mark.detach();
                self.shared.detached.fetch_add(1, Ordering::Relaxed);
                let stopped =
                    Conclusion::of_stop(cause, "while the agent worked, and its work goes on, detached");
                Concluded { conclusion: stopped, at: Instant::now(), detached: Some(settled_sender) }
            }
            // It ended at the last moment, and is about to say how.
            None => concluded(agent, ended.await.ok()),
        }
    }

    fn late_writes(&self, session: &Session) -> LateWriteHook {
        if !self.shared.telemetry.is_on() {
            return LateWriteHook::none();
        }
        let (shared, subject, started) = (Arc::clone(&self.shared), self.subject.clone(), self.started);
        let session = session.clone();
        LateWriteHook::new(move |write| {
            let Some(status) = session.snapshot().task(&write.task).map(|record| record.status) else {
                return;
            };
            shared.telemetry.tell(TeamEventKind::LateWriteRefused, &subject, status, None, started.elapsed());
        })
    }

    fn settle(mut self, admission: Admission, conclusion: Conclusion) -> Result<TaskReport, TeamError> {
        let report = self.report(conclusion);
        self.commit(admission, report)
    }

    fn report(&mut self, conclusion: Conclusion) -> TaskReport {
        let Conclusion { status, output, pause, error } = conclusion;
        let mut report = TaskReport::new(self.subject.task.clone(), self.subject.session.clone(), status);
        report.agent.clone_from(&self.subject.agent);
        report.attempt = self.subject.attempt;
        report.output = output;
        report.pause = pause;
        report.error = error;
        report.timing = Timing::new(self.started.elapsed(), Duration::ZERO);
        report.metadata = mem::take(&mut self.request.metadata);
        report.telemetry_errors = self.telemetry_errors;
        report
    }

    /// The one commit of the attempt. What the session refuses is reported as failed, with the output kept in the report.
    fn commit(self, mut admission: Admission, report: TaskReport) -> Result<TaskReport, TeamError> {
        let settled = admission.settle(report).or_else(|refused| {
            let error = refused.to_task_error();
            let mut failed = refused.into_report();
            failed.status = TaskStatus::Failed;
            failed.pause = None;
            failed.error = Some(error);
            admission.settle(failed)
        });
        match settled {
            Ok(report) => self.finish(Arc::unwrap_or_clone(report)),
            // The session refuses a failed report only where the attempt is not its task's latest, which this one is.
            Err(refused) => self.finish(refused.into_report()),
        }
    }

    /// Why nothing may begin: an event was not taken, and the host wants to know of each.
    fn untold(&self) -> Option<TaskError> {
        if self.telemetry_errors == 0 || self.shared.telemetry_failures != TelemetryFailures::Propagate {
            return None;
        }
        let text = "telemetry failed before the work began, and the runtime was built to propagate that";
        Some(TaskError::new(ErrorCode::ExecutionFailed, text))
    }

    /// The terminal event, and the answer.
    fn finish(mut self, mut report: TaskReport) -> Result<TaskReport, TeamError> {
        self.subject.span.record("status", display(report.status));
        self.has_ended = true;
        self.tell(TeamEventKind::of_end(report.status), report.status, report.error.as_ref());
        report.telemetry_errors = self.telemetry_errors;
        let propagate = self.shared.telemetry_failures == TelemetryFailures::Propagate;
        if propagate && self.telemetry_errors > 0 {
            return Err(TeamError::Telemetry { report: Box::new(report) });
        }
        Ok(report)
    }

    fn tell(&mut self, kind: TeamEventKind, status: TaskStatus, error: Option<&TaskError>) {
        let failed = self.shared.telemetry.tell(kind, &self.subject, status, error, self.started.elapsed());
        self.telemetry_errors = self.telemetry_errors.saturating_add(failed);
    }
}

/// How the work of an attempt ended for its caller.
struct Concluded {
    conclusion: Conclusion,
    at: Instant,
    /// Where the work goes on: held until the attempt is settled, which the late end of the work waits for.
    detached: Option<oneshot::Sender<()>>,
}

/// What the work said; nothing where its task was dropped, which is where the tokio runtime ends.
fn concluded(agent: &AgentId, end: Option<WorkEnd>) -> Concluded {
    let Some(WorkEnd { said, asked_to_stop, at }) = end else {
        let text = "the tokio runtime dropped the work; keep it alive until its tasks have ended";
        let conclusion = Conclusion::of_error(TaskError::new(ErrorCode::ExecutionFailed, text));
        return Concluded { conclusion, at: Instant::now(), detached: None };
    };
    Concluded { conclusion: Conclusion::of_work(agent, said, asked_to_stop), at, detached: None }
}
