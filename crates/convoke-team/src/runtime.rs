//! The runtime: what a host calls.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};
use tracing::Span;

use convoke_core::{IdError, SessionId, TaskId, TaskReport, TaskRequest};
use convoke_registry::{
    AgentRegistry, Answers, Coordination, RunOptions, SlotUsage, TaskHandle, TeamError, TeamHandle,
};
use convoke_session::{Reconcile, Session};

use crate::{
    DetachedWork, NotDetached, SessionAdminError, TeamEventKind, TeamRuntimeBuilder, UnfinishedTask,
    attempt::Job, backend, caller::Caller, flag::SetOnDrop, parallel, shared::Shared, telemetry::Subject,
};

/// Runs tasks on the agents of a registry. Cloning shares it.
///
/// # Which tokio runtime
///
/// Calls come from inside a tokio runtime with time enabled; work runs on that runtime, current-thread or
/// multi-thread. An executor that blocks a thread holds up everything on that thread: on a current-thread runtime no
/// deadline fires meanwhile.
///
/// # Its end
///
/// Dropping the last clone stops all work: it is cancelled, and settled like any other. What does not stop within the
/// grace goes on, detached, until it ends. A clone that an executor of the registry keeps is never dropped, so that the
/// runtime never ends: an executor keeps a [`TeamHandle`], which keeps nothing alive.
///
/// Called inside one of its own tasks, a clone is as good as any handle: what it [runs](Self::run) there is nested.
///
/// It makes no identities, permissions, durable queues or distributed locks.
///
/// ```
/// use convoke_core::{AgentDescriptor, TaskRequest};
/// use convoke_registry::{AgentRegistry, FunctionExecutor};
/// use convoke_team::TeamRuntime;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = AgentRegistry::new();
/// registry.add(
///     AgentDescriptor::new("reviewer").with_skill("review"),
///     FunctionExecutor::new(|request, _ctx| async move { Ok(format!("looks good: {}", request.input)) }),
/// )?;
/// let team = TeamRuntime::builder(registry).max_parallel_tasks(4).build()?;
///
/// let report = team.run(TaskRequest::new("Draft text").requiring("review")).await?;
/// assert_eq!(report.text(), "looks good: Draft text");
/// assert_eq!(report.agent.unwrap().as_str(), "reviewer");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TeamRuntime {
    shared: Arc<Shared>,
    /// Ends the runtime when the last clone goes.
    _alive: Arc<SetOnDrop>,
}

/// What a runtime has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TeamStats {
    /// The limit of work at one time.
    pub max_parallel_tasks: usize,
    /// The slots in use: running work, and detached work that has one. More than the limit where work goes on whose waiter
    /// took back the slot that it had lent; no slot is granted meanwhile.
    pub slots: SlotUsage,
    /// The work that goes on although its caller has its answer.
    pub detached: usize,
    /// The sessions that are kept.
    pub sessions: usize,
    /// The events that an observer or a sink did not take, late ones included.
    pub telemetry_errors: u64,
}

impl TeamRuntime {
    /// A runtime over the agents of `registry`.
    pub fn builder(registry: AgentRegistry) -> TeamRuntimeBuilder {
        TeamRuntimeBuilder::new(registry)
    }

    pub(crate) fn new(shared: Shared) -> Self {
        let alive = Arc::new(SetOnDrop(shared.ended.clone()));
        Self { shared: Arc::new(shared), _alive: alive }
    }

    /// Runs one task to its report.
    ///
    /// Whatever happens to the task is in the report: a refusal, a failure, a timeout. Nothing happens until the future
    /// is first polled; from then on the attempt lives on a task of its own, and the future only waits for the answer.
    ///
    /// Inside a task of this runtime it is nested, see [`TeamHandle`]. It is awaited by the task that first polls it: moved
    /// to another task after that, it stays with the first.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future after its first poll cancels the task, which is then settled in its session.
    ///
    /// # Errors
    ///
    /// [`TeamError`] where the runtime cannot run at all, or where telemetry failures are to be propagated.
    pub fn run(
        &self,
        request: TaskRequest,
    ) -> impl Future<Output = Result<TaskReport, TeamError>> + Send + use<> {
        self.run_with(request, RunOptions::new())
    }

    /// Runs one task to its report, with a token, a deadline or a budget of its own. Otherwise as [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with(
        &self,
        request: TaskRequest,
        options: RunOptions,
    ) -> impl Future<Output = Result<TaskReport, TeamError>> + Send + use<> {
        backend::run(Arc::clone(&self.shared), Box::new(request), options, None, Job::Agent)
    }

    /// Starts one task on its own, at once, and gives its handle.
    ///
    /// Dropping the handle does not stop the task; [`TaskHandle::cancel`] does, and so does the end of the runtime.
    ///
    /// ```
    /// # use convoke_core::{AgentDescriptor, TaskRequest};
    /// # use convoke_registry::{AgentRegistry, FunctionExecutor};
    /// # use convoke_team::TeamRuntime;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let registry = AgentRegistry::new();
    /// let copier = FunctionExecutor::new(|request, ctx| async move {
    ///     ctx.emit("halfway");
    ///     Ok(request.input)
    /// });
    /// registry.add(AgentDescriptor::new("copier"), copier)?;
    /// let team = TeamRuntime::builder(registry).build()?;
    ///
    /// let mut handle = team.spawn(TaskRequest::new("a page"));
    /// let mut updates = handle.updates().ok_or("taken already")?;
    /// while let Some(update) = updates.next().await {
    ///     println!("{}", update.text);
    /// }
    /// assert_eq!(handle.await?.text(), "a page");
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn(&self, request: TaskRequest) -> TaskHandle {
        self.spawn_with(request, RunOptions::new())
    }

    /// Starts one task on its own, with a token, a deadline or a budget. Otherwise as [`spawn`](Self::spawn).
    pub fn spawn_with(&self, request: TaskRequest, options: RunOptions) -> TaskHandle {
        backend::spawn(&self.shared, request, options, Caller::find(None, &self.shared.slots))
    }

    /// Runs many tasks, and gives their reports in the order of the requests.
    ///
    /// All wait in the same line as everybody else, oldest first, and the limit of the runtime holds. A request is
    /// admitted when it gets its agent and its slot; one that ends before, by its deadline or by a refusal, has attempt 0
    /// and leaves no record. One that fails never loses the others. Memory grows with the results, not with tasks that
    /// wait.
    ///
    /// ```
    /// # use convoke_core::{AgentDescriptor, TaskRequest};
    /// # use convoke_registry::{AgentRegistry, FunctionExecutor};
    /// # use convoke_team::TeamRuntime;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let registry = AgentRegistry::new();
    /// let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
    /// registry.add(AgentDescriptor::new("echo").with_max_concurrency(8), echo)?;
    /// let team = TeamRuntime::builder(registry).max_parallel_tasks(2).build()?;
    ///
    /// let reports = team.run_parallel(["a", "b", "c"].map(TaskRequest::new)).await;
    /// let texts: Result<Vec<_>, _> = reports.into_iter().map(|report| Ok(report?.text().to_owned())).collect();
    /// assert_eq!(texts.map_err(|error: convoke_registry::TeamError| error)?, ["a", "b", "c"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future after its first poll cancels all; those that run are settled in their sessions.
    pub fn run_parallel<I>(
        &self,
        requests: I,
    ) -> impl Future<Output = Vec<Result<TaskReport, TeamError>>> + Send + use<I> + 'static
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        self.run_parallel_with(requests, RunOptions::new())
    }

    /// Runs many tasks with one token, one deadline or one budget for all. Otherwise as
    /// [`run_parallel`](Self::run_parallel).
    pub fn run_parallel_with<I>(
        &self,
        requests: I,
        options: RunOptions,
    ) -> impl Future<Output = Vec<Result<TaskReport, TeamError>>> + Send + use<I> + 'static
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        let shared = Arc::clone(&self.shared);
        let requests: Vec<_> = requests.into_iter().collect();
        parallel::run(shared, requests, options, None)
    }

    /// Runs many tasks, and gives each answer as it comes, with the index of its request; see [`TeamHandle::run_each`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the answers after their first poll cancels what has not answered, and waits for none of it.
    pub fn run_each<I>(&self, requests: I, options: RunOptions) -> Answers
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        self.handle().run_each(requests, options)
    }

    /// The session with this id, where a task or [`create_session`](Self::create_session) made it. A run that names no
    /// session has one of its own, which ends with its report unless work of it is paused or detached.
    pub fn session(&self, id: impl AsRef<str>) -> Option<Session> {
        self.shared.sessions.get(id.as_ref())
    }

    /// Makes an empty session.
    ///
    /// # Errors
    ///
    /// Where the id is no id, or is taken, or where as many sessions are kept as may be. With a journal it is always
    /// refused: use [`open_session`](Self::open_session).
    pub fn create_session<I>(&self, id: I) -> Result<Session, SessionAdminError>
    where
        I: TryInto<SessionId>,
        I::Error: Into<IdError>,
    {
        let id = id.try_into().map_err(Into::into)?;
        if self.shared.recorded.is_some() {
            return Err(SessionAdminError::Recorded { session: id });
        }
        self.shared.sessions.create(id)
    }

    /// The session with this id as the runtime has it, else as its [journal](TeamRuntimeBuilder::journal) has it, else an
    /// empty one. A run that names it does the same; this is for whoever wants to read it, or write to it, before.
    ///
    /// What is active in a session that is loaded from the journal was under way in a process that has ended, and is
    /// failed with `interrupted`.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may leave an empty session in the journal.
    ///
    /// # Errors
    ///
    /// Where the id is no id, where as many sessions are kept as may be, or where the journal does not give it:
    /// [`SessionAdminError::Store`] says whether another owns it.
    pub async fn open_session<I>(&self, id: I) -> Result<Session, SessionAdminError>
    where
        I: TryInto<SessionId> + Send,
        I::Error: Into<IdError>,
    {
        let id = id.try_into().map_err(Into::into)?;
        match (&self.shared.recorded, self.session(&id)) {
            (_, Some(session)) if !session.is_over() => Ok(session),
            (Some(recorded), _) => recorded.open(&self.shared.sessions, &id).await,
            (None, _) => self.shared.sessions.create(id),
        }
    }

    /// Forgets a session as [`remove_session`](Self::remove_session) does, where the runtime has it, and removes it from the
    /// [journal](TeamRuntimeBuilder::journal), where that has it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have removed the session; the same call again does the rest.
    ///
    /// # Errors
    ///
    /// Where a task of it is active, paused, detached or late, or where the journal does not lose it.
    pub async fn delete_session(&self, id: &SessionId) -> Result<(), SessionAdminError> {
        match self.remove_session(id) {
            Ok(_) => {}
            Err(SessionAdminError::Unknown { .. }) if self.shared.recorded.is_some() => {}
            Err(error) => return Err(error),
        }
        match &self.shared.recorded {
            Some(recorded) => recorded.delete(id).await,
            None => Ok(()),
        }
    }

    /// Forgets a session, and gives it back. One that is kept in a journal stays there: its claim is released, each later
    /// write to it here is refused, and whoever names it loads it again.
    ///
    /// # Errors
    ///
    /// Where it is not known, or where a task of it is active, paused, detached or late.
    pub fn remove_session(&self, id: impl AsRef<str>) -> Result<Session, SessionAdminError> {
        self.shared.sessions.remove(id.as_ref())
    }

    /// A handle of this runtime, for whoever is to ask it for work and no more: it neither drains nor ends the runtime.
    /// Executors get one from their context.
    pub fn handle(&self) -> TeamHandle {
        TeamHandle::new(&self.shared)
    }

    /// Runs a task of the session that nobody in particular does; see [`TeamHandle::coordinate`].
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn coordinate(
        &self,
        request: TaskRequest,
        options: RunOptions,
        coordination: Coordination,
    ) -> impl Future<Output = Result<TaskReport, TeamError>> + Send + use<> {
        self.handle().coordinate(request, options, coordination)
    }

    /// Decides what is to become of a task that was given up while its work may have taken effect: timed out, or with a
    /// result that came late. The only way out of a terminal status. See [`Session::reconcile`] for what each decision
    /// does; this one tells of it too, and forgets a session that was kept for it alone.
    /// [`RunOptions::late`] does the same with the next request.
    ///
    /// # Errors
    ///
    /// Where the session is not known, or where it refuses: nothing was decided, and a late report is still there.
    pub fn reconcile(
        &self,
        session: &SessionId,
        task: &TaskId,
        decision: Reconcile,
    ) -> impl Future<Output = Result<TaskReport, SessionAdminError>> + Send + use<> {
        let unknown = || SessionAdminError::Unknown { session: session.to_string() };
        let found = self.session(session).ok_or_else(unknown);
        let (shared, task) = (Arc::clone(&self.shared), task.clone());
        async move {
            let session = found?;
            let report = session.reconcile(&task, decision).await?;
            let subject = Subject {
                session: session.id().clone(),
                task,
                attempt: report.attempt,
                agent: report.agent.clone(),
                trace_id: None,
                span: Span::none(),
            };
            let status = report.status;
            shared.telemetry.tell(
                TeamEventKind::Reconciled,
                &subject,
                status,
                report.error.as_ref(),
                Duration::ZERO,
            );
            shared.sessions.end_if_over(session.id());
            Ok(Arc::unwrap_or_clone(report))
        }
    }

    /// The work that goes on although its caller has its answer, by session and task.
    pub fn detached(&self) -> Vec<DetachedWork> {
        self.shared.detached.list()
    }

    /// Gives up detached work that may never end: its slot and its record are free, and what it gives late is refused.
    /// The agent's unit is free too where its executor can work on several tasks at once; where it cannot, the unit opens
    /// when the executor is [replaced](AgentRegistry::replace), since the old one is still busy.
    ///
    /// # Errors
    ///
    /// Where no work of exactly this attempt is detached.
    pub fn forfeit(&self, session: &SessionId, task: &TaskId, attempt: u32) -> Result<(), NotDetached> {
        let not_detached = || NotDetached { session: session.clone(), task: task.clone(), attempt };
        let found = self.session(session).ok_or_else(not_detached)?;
        if !found.forfeit(task, attempt) {
            return Err(not_detached());
        }
        let work = self.shared.detached.take(session, task, attempt).ok_or_else(not_detached)?;
        work.mark.forfeit();
        if let Some(status) = found.snapshot().task(task).map(|record| record.status) {
            let (shared, elapsed) = (&self.shared, work.started.elapsed());
            shared.telemetry.tell(TeamEventKind::Forfeited, &work.subject, status, None, elapsed);
        }
        self.shared.sessions.end_if_over(found.id());
        Ok(())
    }

    /// Admits nothing more from hosts, and waits until what is under way has ended, detached work included, or until
    /// `deadline`; gives what is left. It stops nothing: what was admitted runs on, and so do the tasks that it asks for.
    /// Everything else is refused with `shutting_down`: new runs, the rest of a `run_parallel`, independent tasks.
    ///
    /// One way: a runtime that has begun to drain never admits again. Not to be awaited inside a task of the runtime,
    /// which would wait for itself until the deadline.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait; the runtime drains on.
    pub async fn drain(&self, deadline: impl Into<Option<Instant>> + Send) -> Vec<UnfinishedTask> {
        let deadline = deadline.into();
        self.shared.under_way.close();
        self.shared.draining.cancel();
        let ended = async {
            self.shared.under_way.wait().await;
            for session in self.shared.sessions.all() {
                // The end of detached work may be on its way to the log; what that does not take the session keeps.
                _ = session.recorded().await;
            }
        };
        match deadline {
            // Either way the sessions say what is left.
            Some(deadline) => drop(timeout_at(deadline, ended).await),
            None => ended.await,
        }
        self.shared.sessions.unfinished()
    }

    /// The agents that this runtime dispatches to.
    pub fn registry(&self) -> &AgentRegistry {
        &self.shared.registry
    }

    /// What is under way.
    pub fn stats(&self) -> TeamStats {
        TeamStats {
            max_parallel_tasks: self.shared.max_parallel_tasks,
            slots: self.shared.slots.usage(),
            detached: self.shared.detached.len(),
            sessions: self.shared.sessions.len(),
            telemetry_errors: self.shared.telemetry.failures(),
        }
    }
}

impl fmt::Debug for TeamRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamRuntime").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
