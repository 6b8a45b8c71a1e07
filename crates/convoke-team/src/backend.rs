//! What handles ask for, carried out: each call finds its caller, its wait and its stop, and starts an attempt.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::CancellationToken;

use convoke_core::{Scope, SessionId, TaskError, TaskId, TaskRequest};
use convoke_registry::{
    AgentRegistry, Answers, Awaitable, Coordination, RunOptions, TaskHandle, TeamAnswer, TeamBackend,
    TeamError, Wait,
};
use convoke_session::{Session, SessionLimits};

use crate::{
    SessionAdminError,
    answer::{Answer, Asker},
    attempt::Job,
    caller::Caller,
    each::Each,
    parallel,
    prepared::{Origin, Prepared, task_id},
    shared::Shared,
    stops::Above,
};

impl TeamBackend for Shared {
    fn registry(&self) -> &AgentRegistry {
        &self.registry
    }

    fn run(
        self: Arc<Self>,
        request: Box<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> BoxFuture<'static, TeamAnswer> {
        Box::pin(run(self, request, options, caller, Job::Agent))
    }

    fn run_parallel(
        self: Arc<Self>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> BoxFuture<'static, Vec<TeamAnswer>> {
        Box::pin(parallel::run(self, requests, options, caller))
    }

    fn run_each(
        self: Arc<Self>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> Answers {
        Answers::of_shared(Each::new(self, requests, options, caller))
    }

    fn spawn(
        self: Arc<Self>,
        request: TaskRequest,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> TaskHandle {
        let caller = Caller::find(caller, &self.slots);
        spawn(&self, request, options, caller)
    }

    fn spawn_independent(
        self: Arc<Self>,
        mut request: TaskRequest,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> TaskHandle {
        let trace_id = Caller::find(caller, &self.slots).trace_id();
        request.trace_id = request.trace_id.or_else(|| Some(trace_id?.to_string()));
        spawn(&self, request, options, Caller::host())
    }

    fn coordinate(
        self: Arc<Self>,
        request: Box<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
        coordination: Coordination,
    ) -> BoxFuture<'static, TeamAnswer> {
        Box::pin(run(self, request, options, caller, Job::Coordinated(coordination)))
    }

    fn detached(&self, session: &SessionId, task: &TaskId, attempt: u32) -> Option<CancellationToken> {
        self.detached.end_of(session, task, attempt)
    }

    fn session(&self, id: &SessionId) -> Option<Session> {
        self.sessions.get(id.as_str())
    }

    fn open_session(
        self: Arc<Self>,
        id: SessionId,
        limits: SessionLimits,
    ) -> BoxFuture<'static, Result<Session, TaskError>> {
        Box::pin(async move {
            let opened = match &self.recorded {
                Some(recorded) => recorded.open_with(&self.sessions, &id, limits).await,
                None => self.sessions.open(id, limits),
            };
            self.release();
            opened.map_err(SessionAdminError::into_task_error)
        })
    }

    fn remove_session(self: Arc<Self>, id: SessionId) -> BoxFuture<'static, Result<bool, TaskError>> {
        Box::pin(async move {
            let removed = match self.sessions.remove(id.as_str()) {
                Ok(_) => Ok(true),
                Err(SessionAdminError::Unknown { .. }) => Ok(false),
                Err(error) => Err(error),
            };
            let removed = match (removed, &self.recorded) {
                (Ok(was_there), Some(recorded)) => recorded.delete(&id).await.map(|()| was_there),
                (removed, _) => removed,
            };
            self.release();
            removed.map_err(SessionAdminError::into_task_error)
        })
    }
}

/// Runs one task on a task of its own, and waits for the answer; dropped, it stops the task.
pub(crate) fn run(
    shared: Arc<Shared>,
    request: Box<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
    job: Job,
) -> impl Future<Output = TeamAnswer> + Send + 'static {
    // No `async fn`, whose future has room for each argument twice.
    async move {
        let Awaited { wait: _wait, task, answer } = ask(shared, request, options, caller, job)?;
        answer.await.unwrap_or(Err(TeamError::Lost { task })).map(Arc::unwrap_or_clone)
    }
}

/// A task that was asked for, as whoever awaits it has it.
struct Awaited {
    wait: Option<Wait>,
    task: TaskId,
    /// Dropping it stops the task.
    answer: oneshot::Receiver<Answer>,
}

fn ask(
    shared: Arc<Shared>,
    request: Box<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
    job: Job,
) -> Result<Awaited, TeamError> {
    let runtime = Handle::try_current().map_err(|_| TeamError::NoTokio)?;
    let caller = Caller::find(caller, &shared.slots);
    let wait = caller.wait(&shared.slots);
    let above = caller.above();
    let mut origin = Origin::new(caller);
    origin.awaited_in = wait.as_ref().map(Wait::id);
    let task = task_id(&shared, &request, origin.started);
    let (sender, answer) = oneshot::channel();
    let asker = Asker::Run(sender);
    let prepared = Prepared::new(Arc::clone(&shared), request, task.clone(), options, origin, above, asker);
    // Boxed, here and below: spawning moves a future several times.
    drop(runtime.spawn(Box::pin(prepared.run(job))));
    // After what a tokio runtime that ends has dropped at once.
    shared.release();
    Ok(Awaited { wait, task, answer })
}

/// Starts one task on a task of its own.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    request: TaskRequest,
    options: RunOptions,
    caller: Caller,
) -> TaskHandle {
    let starter = caller.scope().cloned();
    let stop = caller.stop(shared);
    let mut origin = Origin::new(caller);
    let task = task_id(shared, &request, origin.started);
    let (handle, driver) = TaskHandle::new(task.clone(), stop.clone());
    let Ok(runtime) = Handle::try_current() else {
        driver.answer(Err(TeamError::NoTokio));
        return handle;
    };
    let claim = origin.claim.insert(shared.slots.claim(&task));
    let awaitable = Awaitable::new(&shared.slots, claim, starter);
    let (above, asker) = (Above::Token(stop), Asker::Handle(driver));
    let prepared = Prepared::new(Arc::clone(shared), Box::new(request), task, options, origin, above, asker);
    let handle = handle.awaitable(awaitable, prepared.subject.session.clone());
    drop(runtime.spawn(Box::pin(prepared.run(Job::Agent))));
    handle
}
