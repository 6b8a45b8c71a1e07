//! The task on which an executor runs, from its call to the moment at which it has really ended.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
};

use futures_util::FutureExt as _;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use convoke_core::{ErrorCode, ExecutorError, TaskError, TaskOutcome, TaskRequest};
use convoke_observability::{drop_isolated, panic_detail};
use convoke_registry::{AgentExecutor, ExecutionContext, Lease};
use convoke_session::Session;

use crate::{
    TeamEventKind,
    ending::{End, Ending, StopCause},
    shared::Shared,
    telemetry::Subject,
};

/// What the work said, and when.
pub(crate) struct WorkEnd {
    pub(crate) said: Result<TaskOutcome, TaskError>,
    pub(crate) asked_to_stop: Option<StopCause>,
    pub(crate) at: Instant,
}

/// One call of an executor. It owns the lease: capacity follows the work, not the answer to the caller.
pub(crate) struct Execution {
    pub(crate) lease: Lease,
    pub(crate) request: TaskRequest,
    pub(crate) ctx: ExecutionContext,
    pub(crate) end: oneshot::Sender<WorkEnd>,
    pub(crate) after: AfterAbandonment,
}

/// What is left to do when detached work ends. Dropping it does that, since the tokio runtime may end before the work:
/// then nothing of it is alive either.
pub(crate) struct AfterAbandonment {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ending: Arc<Ending>,
    /// Resolves once the driver has settled the attempt, or is gone.
    pub(crate) settled: oneshot::Receiver<()>,
    pub(crate) session: Session,
    pub(crate) subject: Subject,
    pub(crate) started: Instant,
}

impl Execution {
    /// Runs the work to its end, whenever that is.
    pub(crate) async fn run(self) {
        // Declared first, so that it is dropped last: the lease is free when the end is told.
        let Self { mut after, lease, request, ctx, end } = self;
        let abort = lease.capabilities().abort_on_cancel.then(|| ctx.cancellation().clone());
        let said = work(&lease, request, ctx, abort).await;
        let decided = after.ending.end();
        let at = Instant::now();
        // Before anybody can see the end, so that a follow-up finds the place free. The lease may hold the last copy of a
        // removed agent's executor, whose destructor is the host's code: a panic of it has nowhere to go.
        drop_isolated(lease);
        match decided {
            End::Ended(asked_to_stop) => {
                // Fails where the driver is gone, which is where the tokio runtime ends.
                let _ = end.send(WorkEnd { said, asked_to_stop, at });
            }
            End::Abandoned => {
                // Either way there is nothing more to wait for.
                let _ = (&mut after.settled).await;
            }
        }
    }
}

impl Drop for AfterAbandonment {
    fn drop(&mut self) {
        // Where the tokio runtime ends before the work, this is its end, unless the driver gave up before.
        self.ending.end();
        // Closed before the record is looked at: whoever comes second, this or the commit, sees what the other did.
        self.settled.close();
        if self.ending.is_abandoned() {
            end_of_detached(&self.shared, &self.session, &self.subject, self.started);
        }
    }
}

/// Marks the end of detached work, and tells of it, once its attempt is settled; does so once, whoever calls it.
pub(crate) fn end_of_detached(shared: &Shared, session: &Session, subject: &Subject, started: Instant) {
    if !session.detached_ended(&subject.task, subject.attempt, None) {
        return;
    }
    let status = session.snapshot().task(&subject.task).map(|record| record.status);
    shared.detached.fetch_sub(1, Ordering::Relaxed);
    shared.sessions.end_if_over(session.id());
    if let Some(status) = status {
        shared.telemetry.tell(TeamEventKind::DetachedEnded, subject, status, None, started.elapsed());
    }
}

/// Calls the executor; a panic, also of its destructors, becomes an error. With `abort` its future is dropped at its first
/// yield after the signal.
async fn work(
    lease: &Lease,
    request: TaskRequest,
    ctx: ExecutionContext,
    abort: Option<CancellationToken>,
) -> Result<TaskOutcome, TaskError> {
    let executor = lease.executor();
    let said = AssertUnwindSafe(async {
        let work = executor.execute(request, ctx);
        let said = match abort {
            None => work.await,
            Some(token) => tokio::select! {
                biased;
                () = token.cancelled() => Err(ExecutorError::cancelled()),
                said = work => said,
            },
        };
        // Here, since the error's text is made by the host's code, which may panic as well.
        said.map_err(ExecutorError::into_task_error)
    })
    .catch_unwind()
    .await;
    said.unwrap_or_else(|payload| {
        let error = TaskError::new(
            ErrorCode::ExecutorPanicked,
            format!("executor of agent `{}` panicked", lease.agent()),
        );
        Err(match panic_detail(payload) {
            Some(text) => error.with_detail(text),
            None => error,
        })
    })
}
