//! The runtime: what a host calls.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::DropGuard;

use convoke_core::{IdError, SessionId, TaskReport, TaskRequest};
use convoke_registry::{AgentRegistry, RunOptions, SlotUsage, TaskHandle, TeamError};
use convoke_session::Session;

use crate::{
    SessionAdminError, TeamRuntimeBuilder,
    attempt::{Prepared, task_id},
    parallel,
    shared::Shared,
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
/// grace goes on, detached, until it ends.
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
    /// Cancels all work when the last clone goes.
    _alive: Arc<DropGuard>,
}

/// What a runtime has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TeamStats {
    /// The limit of work at one time.
    pub max_parallel_tasks: usize,
    /// The slots in use: running and detached work.
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
        let alive = Arc::new(shared.root.clone().drop_guard());
        Self { shared: Arc::new(shared), _alive: alive }
    }

    /// Runs one task to its report.
    ///
    /// Whatever happens to the task is in the report: a refusal, a failure, a timeout. Nothing happens until the future
    /// is first polled; from then on the attempt lives on a task of its own, and the future only waits for the answer.
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
        let shared = Arc::clone(&self.shared);
        async move {
            let tokio = Handle::try_current().map_err(|_| TeamError::NoTokio)?;
            let stop = shared.root.child_token();
            let stop_on_drop = stop.clone().drop_guard();
            let task = task_id(&shared, &request);
            let prepared = Prepared::new(&shared, request, task.clone(), options, stop);
            let (sender, answer) = oneshot::channel();
            // Boxed, here and below: spawning moves a future several times, and this one is large.
            tokio.spawn(Box::pin(async move {
                // Nobody waits for the answer of a run that was dropped; its record has it.
                let _ = sender.send(prepared.run(None).await);
                shared.release();
            }));
            let answer = answer.await;
            stop_on_drop.disarm();
            answer.unwrap_or(Err(TeamError::Lost { task }))
        }
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
        let stop = self.shared.root.child_token();
        let task = task_id(&self.shared, &request);
        let (handle, mut driver) = TaskHandle::new(task.clone(), stop.clone());
        match Handle::try_current() {
            Ok(tokio) => {
                let shared = Arc::clone(&self.shared);
                let prepared = Prepared::new(&shared, request, task, options, stop);
                tokio.spawn(Box::pin(async move {
                    let answer = prepared.run(Some(&mut driver)).await;
                    driver.answer(answer);
                    shared.release();
                }));
            }
            Err(_) => driver.answer(Err(TeamError::NoTokio)),
        }
        handle
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
        async move { parallel::run(shared, requests, options).await }
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
    /// Where the id is no id, or is taken.
    pub fn create_session<I>(&self, id: I) -> Result<Session, SessionAdminError>
    where
        I: TryInto<SessionId>,
        I::Error: Into<IdError>,
    {
        let id = id.try_into().map_err(Into::into)?;
        self.shared.sessions.create(Session::with_limits(id, self.shared.session_limits))
    }

    /// Forgets a session, and gives it back.
    ///
    /// # Errors
    ///
    /// Where it is not known, or where a task of it is active, paused or detached.
    pub fn remove_session(&self, id: impl AsRef<str>) -> Result<Session, SessionAdminError> {
        self.shared.sessions.remove(id.as_ref())
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
            detached: self.shared.detached.load(Ordering::Relaxed),
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
