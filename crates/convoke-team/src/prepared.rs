//! A request with everything decided that is decided at the first poll: its ids, its session, its deadline.

use std::{mem, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{
    Span,
    field::{Empty, display},
};

use convoke_core::{
    AgentId, Budget, ErrorCode, TaskError, TaskId, TaskReport, TaskRequest, TaskStatus, Timing,
};
use convoke_observability::drop_isolated;
use convoke_registry::{
    CoordinationEvents, CoordinationMoment, LeaseRequest, RunOptions, TaskClaim, TeamError, WaitId,
};
use convoke_session::{AdmissionOptions, Admitted, Attempt, IfCompleted, Session};

use crate::{
    TeamEventKind, TelemetryFailures,
    answer::{Answer, Asker, Reply},
    caller::Caller,
    ending::StopCause,
    outcome::Conclusion,
    sessions::Lifetime,
    shared::Shared,
    stops::{Above, Stops},
    telemetry::Subject,
};

/// Thirty years: tokio's timers go little further.
const FARTHEST: Duration = Duration::from_hours(24 * 365 * 30);

/// Where a request comes from.
pub(crate) struct Origin {
    pub(crate) caller: Caller,
    /// The wait of the task that asks, where it awaits this.
    pub(crate) awaited_in: Option<WaitId>,
    /// The claim that its handle knows it by.
    pub(crate) claim: Option<TaskClaim>,
    /// What a coordinated task tells of itself; none for what an agent does.
    pub(crate) coordinated: Option<Coordinated>,
    /// The first poll.
    pub(crate) started: Instant,
    /// The span of the caller at the first poll, which the task's own span is a child of.
    pub(crate) span: Span,
}

impl Origin {
    /// Somebody's request, nobody waiting for it yet, from now on.
    pub(crate) fn new(caller: Caller) -> Self {
        Self {
            span: caller.span(),
            caller,
            awaited_in: None,
            claim: None,
            coordinated: None,
            started: Instant::now(),
        }
    }
}

/// A coordinated task, and where its own events go.
pub(crate) struct Coordinated {
    pub(crate) events: Option<Arc<dyn CoordinationEvents>>,
}

/// A request that is ready to be admitted. Large, and passed on from step to step, so that it is always boxed.
pub(crate) struct Prepared {
    pub(crate) shared: Arc<Shared>,
    /// Boxed on its own, since it is moved from the caller to here and from here to the executor.
    pub(crate) request: Box<TaskRequest>,
    pub(crate) origin: Origin,
    pub(crate) admission: AdmissionOptions,
    /// Whether the session is this run's own, and ends with it.
    lifetime: Lifetime,
    pub(crate) stops: Stops,
    pub(crate) budget: Option<Budget>,
    /// Why the caller may not ask.
    refusal: Option<TaskError>,
    pub(crate) subject: Subject,
    telemetry_errors: u32,
    /// Whether the end of the attempt was told.
    has_ended: bool,
    /// Whether it was told who has it.
    pub(crate) is_selected: bool,
    /// Until it has its answer.
    pub(crate) asker: Option<Asker>,
    /// Holds up the end of a drain.
    pub(crate) under_way: TaskTrackerToken,
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
        // The caller's code, whose destructor may panic: the answer is not given yet.
        drop_isolated(self.origin.coordinated.take());
        let (sessions, session) = (&self.shared.sessions, &self.subject.session);
        match self.lifetime {
            // As a rule it is over now.
            Lifetime::OfItsWork => sessions.end_own_if_over(session),
            // The task that asks looks itself once it has ended, which it has not.
            Lifetime::OfItsCaller if !self.origin.caller.has_ended(&self.shared.slots) => {}
            _ => sessions.end_if_over(session),
        }
        if let Some(asker) = self.asker.take() {
            asker.lost();
        }
    }
}

/// The id that a request will run under.
pub(crate) fn task_id(shared: &Shared, request: &TaskRequest, started: Instant) -> TaskId {
    request.id.clone().unwrap_or_else(|| shared.ids.task(shared.clock.unix_millis(started)))
}

impl Prepared {
    pub(crate) fn new(
        shared: Arc<Shared>,
        mut request: Box<TaskRequest>,
        task: TaskId,
        mut options: RunOptions,
        origin: Origin,
        above: Above,
        asker: Asker,
    ) -> Box<Self> {
        let Origin { caller, started, .. } = &origin;
        let deadline = deadline(&shared, &request, &options, caller, *started);
        let lifetime = match (&request.session, caller.is_task()) {
            (Some(_), _) => Lifetime::UntilRemoved,
            (None, true) => Lifetime::OfItsCaller,
            (None, false) => Lifetime::OfItsWork,
        };
        let session = request.session.take().or_else(|| caller.session());
        let session = session.unwrap_or_else(|| shared.ids.session(shared.clock.unix_millis(*started)));
        request.session = Some(session.clone());
        let trace_id = request.trace_id.as_deref().map(Arc::from).or_else(|| caller.trace_id());
        let subject = Subject { session, task, attempt: 0, agent: None, trace_id, span: Span::none() };
        let refusal =
            caller.refusal(&shared, options.budget.as_ref()).or_else(|| unknowing(&options, lifetime));
        let mut admission = AdmissionOptions::default().with_if_completed(options.if_completed);
        admission.late = options.late;
        Box::new(Self {
            request,
            admission,
            lifetime,
            budget: caller.budget(&mut options, &shared),
            stops: Stops { above, cancellation: options.cancellation, deadline },
            refusal,
            origin,
            subject,
            telemetry_errors: 0,
            has_ended: false,
            is_selected: false,
            asker: Some(asker),
            under_way: shared.under_way.token(),
            shared,
        })
    }

    /// Which agent is asked for; the one that paused the task goes before a preference.
    pub(crate) fn wanted<'a>(&'a self, paused_at: Option<&'a AgentId>) -> LeaseRequest<'a> {
        wanted(&self.request, &self.subject.task, &self.origin, paused_at)
    }

    /// Whether the attempt is to stop, now.
    pub(crate) fn is_stopped(&self) -> Option<StopCause> {
        let is_gone = self.asker.as_ref().is_some_and(Asker::is_gone);
        if is_gone { Some(StopCause::Cancelled) } else { self.stops.is_stopped(&self.shared) }
    }

    /// Who paused the task that the request answers, as its record says before the admission.
    pub(crate) fn paused_at(&self) -> Option<AgentId> {
        self.request.resume.as_ref()?;
        let session = self.shared.sessions.get(self.subject.session.as_str())?;
        session.snapshot().task(&self.subject.task)?.agent.clone()
    }

    /// What is refused before anything is touched.
    pub(crate) fn defect(&self) -> Option<TaskError> {
        if self.shared.ended.is_set() {
            let text = "runtime is gone; run tasks while a `TeamRuntime` lives";
            return Some(TaskError::new(ErrorCode::ShuttingDown, text));
        }
        // Asked of what this holds a token of: a drain that it comes too early for waits for it.
        if self.shared.under_way.is_closed() && !self.origin.caller.is_task() {
            let text = "runtime drains and admits nothing more; run the task elsewhere";
            return Some(TaskError::new(ErrorCode::ShuttingDown, text));
        }
        // The task that asks may have ended since.
        let ended = self.origin.caller.ended(&self.shared.slots);
        ended.or_else(|| self.refusal.clone()).or_else(|| Some(self.request.defect()?.into_task_error()))
    }

    /// Asks the session for an attempt.
    pub(crate) fn admit(&mut self) -> Result<Admitted, TaskError> {
        let attempt = self.attempt();
        let sessions = &self.shared.sessions;
        let admitted = sessions.admit(&self.subject.session, self.lifetime, attempt, self.admission)?;
        self.admitted_as(&admitted);
        Ok(admitted)
    }

    /// Asks a session with a log for an attempt, and waits until that is in the log.
    pub(crate) async fn admit_recorded(&mut self, session: &Session) -> Result<Admitted, TaskError> {
        let attempt = self.attempt();
        let admitted = session.admit_recorded(attempt, self.admission).await?;
        self.admitted_as(&admitted);
        Ok(admitted)
    }

    /// Whether the session is kept in a journal.
    pub(crate) fn is_in_journal(&self) -> bool {
        self.shared.recorded.is_some()
            && match self.shared.sessions.get(self.subject.session.as_str()) {
                Some(session) => session.is_recorded(),
                None => self.lifetime == Lifetime::UntilRemoved,
            }
    }

    fn attempt(&mut self) -> Attempt {
        let task = self.subject.task.clone();
        let attempt = if self.origin.coordinated.is_some() {
            Attempt::coordinated(task, &self.request)
        } else {
            let mut attempt = Attempt::of_request(task, &self.request);
            attempt.author = self.origin.caller.author();
            attempt
        };
        // Only now, since an attempt at a request that was sent under its id can be asked for again. The executor sees it.
        self.request.id = Some(self.subject.task.clone());
        attempt
    }

    fn admitted_as(&mut self, admitted: &Admitted) {
        if let Admitted::Attempt(admission) = admitted {
            self.subject.attempt = admission.attempt();
            self.subject.span = tracing::info_span!(
                target: "convoke",
                parent: &self.origin.span,
                "task",
                task = %self.subject.task,
                session = %self.subject.session,
                attempt = self.subject.attempt,
                agent = Empty,
                status = Empty,
            );
            if admission.is_reconciled() {
                self.tell(TeamEventKind::Reconciled, TaskStatus::Submitted, None);
            }
            self.tell(TeamEventKind::Submitted, TaskStatus::Submitted, None);
        }
    }

    /// Answers with the report of a task that is over; `accepted` where it came late, and is the result from now on.
    pub(crate) fn recorded(mut self: Box<Self>, report: Arc<TaskReport>, accepted: bool) -> Option<Reply> {
        self.has_ended = true;
        if accepted {
            self.subject.attempt = report.attempt;
            self.subject.agent.clone_from(&report.agent);
            self.tell(TeamEventKind::Reconciled, report.status, report.error.as_ref());
        }
        self.answer(report)
    }

    /// Reports what never was admitted; no record changes.
    pub(crate) fn refuse(self: Box<Self>, error: TaskError) -> Option<Reply> {
        self.refuse_as(Conclusion::of_refusal(error))
    }

    /// Reports an end before admission; no record changes.
    pub(crate) fn refuse_as(mut self: Box<Self>, conclusion: Conclusion) -> Option<Reply> {
        let timing = self.waited();
        let report = self.report(conclusion, timing);
        self.finish(Arc::new(report))
    }

    /// The timing of what ends now, and never was worked on.
    pub(crate) fn waited(&self) -> Timing {
        Timing::new(self.origin.started.elapsed(), Duration::ZERO)
    }

    pub(crate) fn report(&mut self, conclusion: Conclusion, timing: Timing) -> TaskReport {
        let Conclusion { status, output, pause, error } = conclusion;
        let mut report = TaskReport::new(self.subject.task.clone(), self.subject.session.clone(), status);
        report.agent.clone_from(&self.subject.agent);
        report.attempt = self.subject.attempt;
        report.output = output;
        report.pause = pause;
        report.error = error;
        report.timing = timing;
        report.metadata = mem::take(&mut self.request.metadata);
        report.telemetry_errors = self.telemetry_errors;
        report
    }

    /// Why nothing may begin: an event was not taken, and the host wants to know of each.
    pub(crate) fn untold(&self) -> Option<TaskError> {
        if self.telemetry_errors == 0 || self.shared.telemetry_failures != TelemetryFailures::Propagate {
            return None;
        }
        let text = "telemetry failed before the work began, and the runtime was built to propagate that";
        Some(TaskError::new(ErrorCode::ExecutionFailed, text))
    }

    /// The terminal event, and the answer.
    pub(crate) fn finish(mut self: Box<Self>, mut report: Arc<TaskReport>) -> Option<Reply> {
        self.subject.span.record("status", display(report.status));
        self.has_ended = true;
        self.tell(TeamEventKind::of_end(report.status), report.status, report.error.as_ref());
        if report.telemetry_errors != self.telemetry_errors {
            Arc::make_mut(&mut report).telemetry_errors = self.telemetry_errors;
        }
        self.answer(report)
    }

    fn answer(&mut self, report: Arc<TaskReport>) -> Option<Reply> {
        let propagate = self.shared.telemetry_failures == TelemetryFailures::Propagate;
        let answer: Answer = if propagate && self.telemetry_errors > 0 {
            Err(TeamError::Telemetry { report: Box::new(Arc::unwrap_or_clone(report)) })
        } else {
            Ok(report)
        };
        Some(Reply::new(self.asker.take()?, answer))
    }

    pub(crate) fn tell(&mut self, kind: TeamEventKind, status: TaskStatus, error: Option<&TaskError>) {
        let telemetry = &self.shared.telemetry;
        let failed = match &self.origin.coordinated {
            Some(Coordinated { events }) if kind.is_of_life() => {
                let (Some(events), Some(stage)) = (events, kind.stage()) else { return };
                let Subject { session, task, attempt, trace_id, .. } = &self.subject;
                let mut moment = CoordinationMoment::new(stage, session, task, status);
                moment.attempt = *attempt;
                moment.trace_id = trace_id.as_ref();
                moment.error = error;
                moment.elapsed = self.origin.started.elapsed();
                telemetry.tell_own(&**events, &moment, &self.subject.span)
            }
            _ if telemetry.is_on() => {
                telemetry.tell(kind, &self.subject, status, error, self.origin.started.elapsed())
            }
            _ => return,
        };
        self.telemetry_errors = self.telemetry_errors.saturating_add(failed);
    }
}

/// Which agent is asked for; see [`Prepared::wanted`].
pub(crate) fn wanted<'a>(
    request: &'a TaskRequest,
    task: &'a TaskId,
    origin: &'a Origin,
    paused_at: Option<&'a AgentId>,
) -> LeaseRequest<'a> {
    let wanted = LeaseRequest::from(request)
        .of_task(task)
        .claimed(origin.claim.as_ref())
        .awaited_in(origin.awaited_in);
    match paused_at {
        Some(agent) => wanted.preferring(agent),
        None => wanted,
    }
}

/// Why a word about what ran before says nothing: a session that is made for a run knows of no other.
fn unknowing(options: &RunOptions, lifetime: Lifetime) -> Option<TaskError> {
    let asks = options.if_completed == IfCompleted::Return || options.late.is_some();
    let text = "request names no session, and one of its own knows nothing of what ran before; name the session of that";
    (asks && lifetime == Lifetime::OfItsWork).then(|| TaskError::new(ErrorCode::InvalidRequest, text))
}

/// The earliest of what request, caller and the task that asks say, from the first poll on; the default if they say nothing.
fn deadline(
    shared: &Shared,
    request: &TaskRequest,
    options: &RunOptions,
    caller: &Caller,
    started: Instant,
) -> Option<Instant> {
    let timeout = request.timeout.and_then(|timeout| started.checked_add(timeout));
    let inherited = caller.deadline(started, shared.grace);
    // What is further away than a timer can say is as good as no deadline.
    let is_near =
        |deadline: &Instant| started.checked_add(FARTHEST).is_none_or(|farthest| *deadline < farthest);
    let explicit = [timeout, options.deadline, inherited].into_iter().flatten().min().filter(is_near);
    // A timeout beyond what the clock can say is none, and was said all the same.
    let is_said = request.timeout.is_some() || options.deadline.is_some();
    let default = shared.default_task_timeout.filter(|_| !is_said);
    explicit.or_else(|| started.checked_add(default?).filter(is_near))
}
