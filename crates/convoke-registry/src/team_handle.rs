//! The door to a runtime: what executors, and all floors above, ask for work through.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, ready},
    stream,
};

use tokio_util::sync::CancellationToken;

use convoke_core::{
    AgentId, ErrorCode, IdGenerator, Scope, SessionId, SkillId, TaskError, TaskId, TaskReport, TaskRequest,
};
use convoke_session::{Session, SessionLimits};

use crate::{
    AgentRegistry, AgentSnapshot, Answers, Coordination, RunOptions, TaskHandle, TeamError, TeamSessions,
};

/// What a run answers.
pub type TeamAnswer = Result<TaskReport, TeamError>;

/// A runtime, as its handles reach it. Who uses a team calls [`TeamHandle`].
///
/// `caller` is the scope that the handle carries; without one, the runtime looks for the current scope at the first poll.
pub trait TeamBackend: Send + Sync + 'static {
    /// The agents that it dispatches to.
    fn registry(&self) -> &AgentRegistry;

    /// Runs one task.
    fn run(
        self: Arc<Self>,
        request: Box<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> BoxFuture<'static, TeamAnswer>;

    /// Runs many tasks.
    fn run_parallel(
        self: Arc<Self>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> BoxFuture<'static, Vec<TeamAnswer>>;

    /// Runs many tasks, and gives each answer as it comes, with the index of its request.
    fn run_each(
        self: Arc<Self>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> Answers;

    /// Starts a task, nested under its caller.
    fn spawn(self: Arc<Self>, request: TaskRequest, options: RunOptions, caller: Option<Scope>)
    -> TaskHandle;

    /// Starts a task that takes nothing from its caller but the trace.
    fn spawn_independent(
        self: Arc<Self>,
        request: TaskRequest,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> TaskHandle;

    /// Runs a coordinated task.
    fn coordinate(
        self: Arc<Self>,
        request: Box<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
        coordination: Coordination,
    ) -> BoxFuture<'static, TeamAnswer>;

    /// Signalled once no work of exactly this attempt is detached any more; `None` where none is.
    fn detached(&self, session: &SessionId, task: &TaskId, attempt: u32) -> Option<CancellationToken>;

    /// A session that is there.
    fn session(&self, id: &SessionId) -> Option<Session>;

    /// A session that is there, or in the journal, or a new one; the last two with these limits.
    fn open_session(
        self: Arc<Self>,
        id: SessionId,
        limits: SessionLimits,
    ) -> BoxFuture<'static, Result<Session, TaskError>>;

    /// Forgets a session for good, and says whether the runtime had it.
    fn remove_session(self: Arc<Self>, id: SessionId) -> BoxFuture<'static, Result<bool, TaskError>>;
}

/// Asks a team for work, from inside its tasks or from a host. It keeps no runtime alive; cloning it is cheap.
///
/// # Nested work
///
/// The handle of a context ([`ExecutionContext::team`](crate::ExecutionContext::team)) carries its task by value, also
/// across a spawn: what it runs is *nested* in that task. Nested work inherits session, trace and budget; it is stopped
/// with the task that asked for it, and a little before that one's deadline, so that it can still be told; it is
/// cancelled when that one ends; and while the task awaits it, it uses that task's slot, so that one slot is enough for
/// any depth. Where it could never get its agent, because those who have it wait for it, it is refused at once with
/// `wait_cycle` and the path of who waits for whom.
///
/// Any other handle of the same runtime is recognised inside a task, in a blocking executor, and in a future that
/// [`Scope::wrap`] wraps; elsewhere, in a task that is spawned by hand for example, it starts independent work, and a wait
/// for that is seen by nobody.
///
/// A run is awaited by the task that first polls its future: moved to another task after that, it stays with the first.
///
/// ```
/// # use convoke_core::{AgentDescriptor, TaskRequest};
/// # use convoke_registry::{AgentRegistry, FunctionExecutor};
/// let editor = FunctionExecutor::new(|request, ctx| async move {
///     let draft = ctx.team().run(TaskRequest::new(request.input).requiring("write")).await?;
///     Ok(format!("edited: {}", draft.text()))
/// });
/// # let registry = AgentRegistry::new();
/// registry.add(AgentDescriptor::new("editor").with_skill("edit"), editor)?;
/// # Ok::<(), convoke_registry::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct TeamHandle {
    runtime: Option<Weak<dyn TeamBackend>>,
    caller: Option<Scope>,
}

impl TeamHandle {
    /// A handle of a runtime, for whoever has it.
    pub fn new<R: TeamBackend>(runtime: &Arc<R>) -> Self {
        let runtime: Weak<R> = Arc::downgrade(runtime);
        Self { runtime: Some(runtime), caller: None }
    }

    /// A handle of no runtime: whatever it is asked for is refused with `shutting_down`.
    pub fn closed() -> Self {
        Self { runtime: None, caller: None }
    }

    /// The same handle for the task of `scope`, which it carries by value.
    #[must_use]
    pub fn for_task(&self, scope: Scope) -> Self {
        Self { runtime: self.runtime.clone(), caller: Some(scope) }
    }

    /// A handle of a runtime for the task of `scope`, which it carries by value: [`new`](Self::new) and
    /// [`for_task`](Self::for_task) in one.
    pub fn of_task<R: TeamBackend>(runtime: &Arc<R>, scope: Scope) -> Self {
        Self { caller: Some(scope), ..Self::new(runtime) }
    }

    /// Runs one task to its report. Whatever happens to the task is in the report: a refusal, a failure, a timeout.
    /// Nothing happens until the future is first polled.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future after its first poll cancels the task, which is then settled in its session.
    ///
    /// # Errors
    ///
    /// [`TeamError`] where the runtime cannot run at all, or where telemetry failures are to be propagated.
    pub fn run(&self, request: TaskRequest) -> impl Future<Output = TeamAnswer> + Send + use<> {
        self.run_with(request, RunOptions::new())
    }

    /// As [`run`](Self::run), with a token, a deadline or a budget of its own, each within what the caller's task has.
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
    ) -> impl Future<Output = TeamAnswer> + Send + use<> {
        // Boxed, so that the future of who awaits this needs no room for it.
        let (handle, request) = (self.clone(), Box::new(request));
        async move { handle.into_run(request, options).await }
    }

    /// Runs many tasks, and gives their reports in the order of the requests. One that fails never loses the others.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future after its first poll cancels all; those that run are settled in their sessions.
    pub fn run_parallel<I>(
        &self,
        requests: I,
    ) -> impl Future<Output = Vec<TeamAnswer>> + Send + use<I> + 'static
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        self.run_parallel_with(requests, RunOptions::new())
    }

    /// As [`run_parallel`](Self::run_parallel), with one token, one deadline or one budget for all.
    ///
    /// # Cancel safety
    ///
    /// As [`run_parallel`](Self::run_parallel).
    pub fn run_parallel_with<I>(
        &self,
        requests: I,
        options: RunOptions,
    ) -> impl Future<Output = Vec<TeamAnswer>> + Send + use<I> + 'static
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        let handle = self.clone();
        let requests: Vec<_> = requests.into_iter().collect();
        async move {
            match handle.runtime() {
                Some(runtime) => runtime.run_parallel(requests, options, handle.caller).await,
                None => requests.iter().map(|request| Ok(shut_down(request))).collect(),
            }
        }
    }

    /// As [`run_parallel`](Self::run_parallel), but gives each answer as it comes, with the index of its request. Nothing
    /// happens before the first poll.
    ///
    /// ```
    /// # use convoke_core::TaskRequest;
    /// # use convoke_registry::{RunOptions, TeamHandle};
    /// # async fn first(team: TeamHandle) {
    /// let asked = ["one", "two"].map(|agent| TaskRequest::new("a title").preferring(agent));
    /// let mut answers = team.run_each(asked, RunOptions::new());
    /// while let Some((index, answer)) = answers.next().await {
    ///     if answer.is_ok_and(|report| report.is_success()) {
    ///         println!("request {index} came first");
    ///         break; // dropped here, which stops the others
    ///     }
    /// }
    /// # }
    /// ```
    pub fn run_each<I>(&self, requests: I, options: RunOptions) -> Answers
    where
        I: IntoIterator<Item = TaskRequest>,
    {
        let requests: Vec<_> = requests.into_iter().collect();
        if let Some(runtime) = self.runtime() {
            return runtime.run_each(requests, options, self.caller.clone());
        }
        let answers: Vec<_> = requests.iter().map(|request| Ok(shut_down(request))).collect();
        Answers::new(stream::iter(answers.into_iter().enumerate()))
    }

    /// Starts one task on its own, at once, and gives its handle. Inside a task it is nested: when that one ends, it is
    /// cancelled, or refused with `invalid_request` where it had not begun yet.
    ///
    /// Dropping the handle does not stop the task; [`TaskHandle::cancel`] does.
    pub fn spawn(&self, request: TaskRequest) -> TaskHandle {
        self.spawn_with(request, RunOptions::new())
    }

    /// As [`spawn`](Self::spawn), with a token, a deadline or a budget.
    pub fn spawn_with(&self, request: TaskRequest, options: RunOptions) -> TaskHandle {
        match self.runtime() {
            Some(runtime) => runtime.spawn(request, options, self.caller.clone()),
            None => TaskHandle::answered(shut_down(&request)),
        }
    }

    /// Starts one task that outlives the task that asks for it: with a deadline, a token, a budget and a session of its
    /// own, and no slot lent to it unless its handle is awaited. Only the trace is kept; its depth starts anew.
    pub fn spawn_independent(&self, request: TaskRequest) -> TaskHandle {
        self.spawn_independent_with(request, RunOptions::new())
    }

    /// As [`spawn_independent`](Self::spawn_independent), with a token, a deadline or a budget.
    pub fn spawn_independent_with(&self, request: TaskRequest, options: RunOptions) -> TaskHandle {
        match self.runtime() {
            Some(runtime) => runtime.spawn_independent(request, options, self.caller.clone()),
            None => TaskHandle::answered(shut_down(&request)),
        }
    }

    /// Runs a task of the session that nobody in particular does: it is admitted, has a deadline and a slot, which it lends
    /// to what it awaits, and ends in one commit, as any task does; but it takes no agent, leaves no input message, and
    /// raises none of the four events of a task. Votes, relays and loops stand on it, and raise their own.
    ///
    /// ```
    /// # use convoke_core::{AgentDescriptor, TaskOutcome, TaskRequest};
    /// # use convoke_registry::{Coordination, RunOptions, TeamError, TeamHandle};
    /// # async fn both(team: TeamHandle) -> Result<(), TeamError> {
    /// let both = Coordination::new(|ctx| async move {
    ///     let ask = |agent| TaskRequest::new("a title").preferring(agent);
    ///     let reports = ctx.team().run_parallel([ask("one"), ask("two")]).await;
    ///     let answered = reports.iter().filter(|answer| answer.as_ref().is_ok_and(|report| report.is_success()));
    ///     Ok(TaskOutcome::completed(format!("{} answered", answered.count())))
    /// });
    /// let report = team.coordinate(TaskRequest::new("a title"), RunOptions::new(), both).await?;
    /// # let _ = report;
    /// # Ok(())
    /// # }
    /// ```
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
    ) -> impl Future<Output = TeamAnswer> + Send + use<> {
        let (handle, request) = (self.clone(), Box::new(request));
        async move {
            let Some(runtime) = handle.runtime() else { return Ok(shut_down(&request)) };
            runtime.coordinate(request, options, handle.caller, coordination).await
        }
    }

    /// The agents that have all of `skills`, whatever their availability, by id; none where the runtime is gone.
    pub fn find_agents(&self, skills: &[SkillId]) -> Vec<AgentSnapshot> {
        self.runtime().map_or_else(Vec::new, |runtime| runtime.registry().find(skills))
    }

    /// The ids of the available agents that have all of `skills`, in their order; none where the runtime is gone.
    pub fn find_available(&self, skills: &[SkillId]) -> Vec<AgentId> {
        self.runtime().map_or_else(Vec::new, |runtime| runtime.registry().find_available(skills))
    }

    /// One agent, whatever its availability; `None` where it is not registered, or the runtime is gone.
    pub fn agent(&self, id: impl AsRef<str>) -> Option<AgentSnapshot> {
        self.runtime()?.registry().get(id.as_ref())
    }

    /// Waits until the work that this report says is [detached](TaskReport::detached) has ended, or a host has given it up
    /// for good; resolves at once where none of it is, or where the runtime is gone and with it all that knew of the work.
    /// After that the task may have another attempt.
    ///
    /// ```
    /// # use convoke_core::TaskRequest;
    /// # use convoke_registry::{TeamError, TeamHandle};
    /// # async fn really_over(team: TeamHandle, request: TaskRequest) -> Result<(), TeamError> {
    /// let report = team.run(request).await?;
    /// team.detached_ended(&report).await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn detached_ended(&self, report: &TaskReport) -> impl Future<Output = ()> + Send + use<> {
        let runtime = self.runtime();
        let ended = runtime.and_then(|it| it.detached(&report.session, &report.task, report.attempt));
        async move {
            if let Some(ended) = ended {
                ended.cancelled().await;
            }
        }
    }

    /// The sessions of the runtime.
    pub fn sessions(&self) -> TeamSessions {
        TeamSessions::new(self.runtime.clone())
    }

    fn into_run(self, request: Box<TaskRequest>, options: RunOptions) -> BoxFuture<'static, TeamAnswer> {
        match self.runtime() {
            Some(runtime) => runtime.run(request, options, self.caller),
            None => ready(Ok(shut_down(&request))).boxed(),
        }
    }

    fn runtime(&self) -> Option<Arc<dyn TeamBackend>> {
        self.runtime.as_ref()?.upgrade()
    }
}

/// The report of what a runtime that is gone was asked for.
fn shut_down(request: &TaskRequest) -> TaskReport {
    let ids = IdGenerator::random();
    let task = request.id.clone().unwrap_or_else(|| ids.task(0));
    let session = request.session.clone().unwrap_or_else(|| ids.session(0));
    let text = "runtime is gone; run tasks while a `TeamRuntime` lives";
    let error = TaskError::new(ErrorCode::ShuttingDown, text);
    let mut report = TaskReport::new(task, session, error.code().status());
    report.error = Some(error);
    report
}

impl fmt::Debug for TeamHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamHandle")
            .field("is_open", &self.runtime().is_some())
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
