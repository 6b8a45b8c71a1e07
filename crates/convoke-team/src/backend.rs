//! What handles ask for, carried out: each call finds its caller, its wait and its stop, and starts a driver.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::DropGuard;

use convoke_core::{Scope, TaskId, TaskRequest};
use convoke_registry::{
    AgentRegistry, Answers, Awaitable, Coordination, RunOptions, TaskHandle, TeamAnswer, TeamBackend,
    TeamError, Wait,
};

use crate::{
    attempt::Job,
    caller::Caller,
    parallel,
    prepared::{Answer, Origin, Prepared, task_id},
    shared::Shared,
};

impl TeamBackend for Shared {
    fn registry(&self) -> &AgentRegistry {
        &self.registry
    }

    fn run(
        self: Arc<Self>,
        request: TaskRequest,
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
        Answers::new(parallel::each(self, requests, options, caller))
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
        request: TaskRequest,
        options: RunOptions,
        caller: Option<Scope>,
        coordination: Coordination,
    ) -> BoxFuture<'static, TeamAnswer> {
        Box::pin(run(self, request, options, caller, Job::Coordinated(coordination)))
    }
}

/// Runs one task on a driver of its own, and waits for the answer; dropped, it stops the task.
pub(crate) fn run(
    shared: Arc<Shared>,
    request: TaskRequest,
    options: RunOptions,
    caller: Option<Scope>,
    job: Job,
) -> impl Future<Output = TeamAnswer> + Send + 'static {
    // No `async fn`, whose future has room for each argument twice.
    async move {
        let Asked { wait: _wait, stop_on_drop, task, answer } = ask(shared, request, options, caller, job)?;
        let answer = answer.await;
        stop_on_drop.disarm();
        answer.unwrap_or(Err(TeamError::Lost { task })).map(Arc::unwrap_or_clone)
    }
}

/// A task that was asked for, as whoever awaits it has it.
struct Asked {
    wait: Option<Wait>,
    stop_on_drop: DropGuard,
    task: TaskId,
    answer: oneshot::Receiver<Answer>,
}

fn ask(
    shared: Arc<Shared>,
    request: TaskRequest,
    options: RunOptions,
    caller: Option<Scope>,
    job: Job,
) -> Result<Asked, TeamError> {
    let tokio = Handle::try_current().map_err(|_| TeamError::NoTokio)?;
    let caller = Caller::find(caller, &shared.slots);
    let wait = caller.wait(&shared.slots);
    let mut origin = Origin::new(&shared, caller);
    origin.awaited_in = wait.as_ref().map(Wait::id);
    let stop_on_drop = origin.stop.clone().drop_guard();
    let task = task_id(&shared, &request, origin.started);
    let prepared = Prepared::new(&shared, request, task.clone(), options, origin);
    let (sender, answer) = oneshot::channel();
    // Boxed, here and below: spawning moves a future several times, and this one is large.
    tokio.spawn(Box::pin(async move {
        // Nobody waits for the answer of a run that was dropped; its record has it.
        let _ = sender.send(prepared.run(job, None).await);
        shared.release();
    }));
    Ok(Asked { wait, stop_on_drop, task, answer })
}

/// Starts one task on a driver of its own.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    request: TaskRequest,
    options: RunOptions,
    caller: Caller,
) -> TaskHandle {
    let starter = caller.scope().cloned();
    let mut origin = Origin::new(shared, caller);
    let task = task_id(shared, &request, origin.started);
    let (handle, mut driver) = TaskHandle::new(task.clone(), origin.stop.clone());
    let Ok(tokio) = Handle::try_current() else {
        driver.answer(Err(TeamError::NoTokio));
        return handle;
    };
    let claim = origin.claim.insert(shared.slots.claim(&task));
    let awaitable = Awaitable::new(&shared.slots, claim, starter);
    let prepared = Prepared::new(shared, request, task, options, origin);
    let handle = handle.awaitable(awaitable, prepared.subject.session.clone());
    let shared = Arc::clone(shared);
    tokio.spawn(Box::pin(async move {
        let answer = prepared.run(Job::Agent, Some(&mut driver)).await;
        driver.answer(answer.map(Arc::unwrap_or_clone));
        shared.release();
    }));
    handle
}
