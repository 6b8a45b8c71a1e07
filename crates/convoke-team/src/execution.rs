//! The work itself, from the call of an executor to the moment at which it has really ended.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::time::Instant;
use tracing::Instrument as _;

use convoke_core::{AgentId, ErrorCode, ExecutorError, TaskError, TaskOutcome};
use convoke_observability::{drop_isolated, panic_detail};
use convoke_registry::{
    AgentExecutor, CoordinatedContext, CoordinationBody, CoordinationError, ExecutionContext, Lease,
    LeaseMark, SlotLease, TeamHandle,
};

use crate::{
    answer::Reply,
    begun::{Begun, Given},
    outcome::Worker,
};

/// What the work said.
pub(crate) type Said = Result<TaskOutcome, CoordinationError>;

/// What is to be done, with the capacity that it holds: that follows the work, not the answer to the caller.
pub(crate) enum Work {
    /// An agent's executor.
    Agent(Lease),
    /// The body of a coordinated task, until it is called.
    Body(SlotLease, Option<CoordinationBody>),
}

impl Work {
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(lease) => Some(lease.agent()),
            Self::Body(..) => None,
        }
    }

    pub(crate) fn mark(&self) -> LeaseMark {
        match self {
            Self::Agent(lease) => lease.mark(),
            Self::Body(slot, _) => slot.mark(),
        }
    }
}

/// One piece of work, on the task that does it. Dropping it before its end is its end too: the tokio runtime ends, and
/// nothing of it is alive either.
pub(crate) struct Execution {
    /// Until the work has ended.
    work: Option<Work>,
    begun: Arc<Begun>,
}

impl Execution {
    pub(crate) fn new(work: Work, begun: Arc<Begun>) -> Self {
        Self { work: Some(work), begun }
    }

    /// Does the work to its end, whenever that is; gives the answer unless somebody has given it without waiting for that.
    pub(crate) async fn run(mut self) -> Option<Reply> {
        let Self { work, begun } = &mut self;
        let said = {
            let mut stopped = pin!(begun.stops.stopped(&begun.shared));
            begun.wake_at(stopped.as_mut());
            begun.scope.wrap(guarded(work, begun)).instrument(begun.span()).await
        };
        let (decided, at) = (begun.ending.end(), Instant::now());
        // Before its slot is free, so that nothing that it has started begins with that.
        begun.end_nested();
        // Before anybody can see the end, so that a follow-up finds the place free. A lease may hold the last copy of a
        // removed agent's executor, whose destructor is the host's code: a panic of it has nowhere to go.
        drop_isolated(work.take());
        begun.end(said, decided, at).reply().await
    }
}

/// Does the work; a panic of it, also of its destructors, becomes an error.
async fn guarded(work: &mut Option<Work>, begun: &Begun) -> Said {
    AssertUnwindSafe(call(work, begun)).catch_unwind().await.unwrap_or_else(|payload| {
        let worker = Worker(work.as_ref().and_then(Work::agent));
        let error = TaskError::new(ErrorCode::ExecutorPanicked, worker.panicked());
        Err(CoordinationError::new(match panic_detail(payload) {
            Some(text) => error.with_detail(text),
            None => error,
        }))
    })
}

async fn call(work: &mut Option<Work>, begun: &Begun) -> Said {
    let scope = &begun.scope;
    match work {
        Some(Work::Agent(lease)) => {
            let Some(work) = execute(begun, lease) else { return Ok(TaskOutcome::cancelled()) };
            let said = if lease.capabilities().abort_on_cancel {
                // Its future is dropped at its first yield after the signal.
                tokio::select! {
                    biased;
                    () = scope.cancellation().cancelled() => Err(ExecutorError::cancelled()),
                    said = work => said,
                }
            } else {
                work.await
            };
            // Here, since the error's text is made by the host's code, which may panic as well.
            said.map_err(|error| CoordinationError::new(error.into_task_error()))
        }
        Some(Work::Body(_, body)) => match body.take().and_then(|body| perform(begun, body)) {
            Some(work) => work.await,
            None => Ok(TaskOutcome::cancelled()),
        },
        None => Ok(TaskOutcome::cancelled()),
    }
}

/// Calls the executor. No part of the future that awaits it, which would have room for all that is given here.
fn execute<'a>(
    begun: &Begun,
    lease: &'a Lease,
) -> Option<impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send + use<'a>> {
    let (Given { handle, previous, progress }, request) = begun.give()?;
    let ctx = ExecutionContext::of_attempt(lease.agent().clone(), handle, begun.scope.clone())
        .with_team(TeamHandle::of_task(&begun.shared, begun.scope.clone()))
        .with_grace(begun.shared.grace)
        .with_previous(previous)
        .with_progress(progress);
    Some(lease.executor().execute(request, ctx))
}

/// Calls the body of a coordinated task, as [`execute`] does an executor.
fn perform(begun: &Begun, body: CoordinationBody) -> Option<BoxFuture<'static, Said>> {
    let (Given { handle, previous, .. }, _) = begun.give()?;
    let team = TeamHandle::of_task(&begun.shared, begun.scope.clone());
    let ctx = CoordinatedContext::new(handle, begun.scope.clone(), team, previous);
    Some(body(ctx.with_grace(begun.shared.grace)))
}

impl Drop for Execution {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        self.begun.end_nested();
        // The capacity is free when the end is told.
        drop_isolated(work);
        self.begun.lost();
    }
}
