//! The task on which an executor runs, from its call to the moment at which it has really ended.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::{sync::oneshot, time::Instant};

use convoke_core::{
    AgentId, ErrorCode, ExecutorError, Scope, TaskError, TaskOutcome, TaskReport, TaskRequest, TaskStatus,
    Timing,
};
use convoke_observability::{drop_isolated, panic_detail};
use convoke_registry::{
    AgentExecutor, CoordinatedContext, CoordinationBody, CoordinationError, ExecutionContext, Lease,
    LeaseMark, ProgressSender, RunningTask, SlotLease, TeamHandle,
};
use convoke_session::{Session, SessionHandle};

use crate::{
    TeamEventKind,
    ending::{End, Ending, StopCause},
    outcome::{Conclusion, Worker},
    shared::Shared,
    telemetry::Subject,
};

/// What the work said.
pub(crate) type Said = Result<TaskOutcome, CoordinationError>;

/// What the work said, and when.
pub(crate) struct WorkEnd {
    pub(crate) said: Said,
    pub(crate) asked_to_stop: Option<StopCause>,
    pub(crate) at: Instant,
}

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

/// One piece of work. Boxed, so that its future, which is moved into a task of its own, is small.
pub(crate) struct Execution {
    /// Until the work has ended.
    pub(crate) work: Option<Work>,
    /// Until the executor has it.
    pub(crate) request: Option<TaskRequest>,
    pub(crate) handle: SessionHandle,
    pub(crate) team: TeamHandle,
    pub(crate) previous: Option<Arc<TaskReport>>,
    pub(crate) progress: Option<ProgressSender>,
    /// The last field, so that it is dropped last: the capacity is free when the end is told.
    pub(crate) after: AfterAbandonment,
}

/// What is left to do when detached work ends. Dropping it does that, since the tokio runtime may end before the work:
/// then nothing of it is alive either.
pub(crate) struct AfterAbandonment {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ending: Arc<Ending>,
    /// Takes the end, until it is told. The driver hears of it for as long as the attempt is not settled.
    pub(crate) end: Option<oneshot::Sender<WorkEnd>>,
    pub(crate) scope: Scope,
    pub(crate) session: Session,
    pub(crate) subject: Subject,
    pub(crate) began: Instant,
    /// How it ended after all. Boxed, since few have it and all are allocated with room for it.
    pub(crate) late: Option<Box<TaskReport>>,
    pub(crate) started: Instant,
}

impl Execution {
    /// Runs the work to its end, whenever that is.
    pub(crate) async fn run(mut self: Box<Self>) {
        let scope = self.after.scope.clone();
        let said = scope.wrap(self.guarded()).await;
        let (decided, at) = (self.after.ending.end(), Instant::now());
        // Before its slot is free, so that nothing that it has started begins with that.
        end_nested(&scope, &self.after.shared);
        // Before anybody can see the end, so that a follow-up finds the place free. A lease may hold the last copy of a
        // removed agent's executor, whose destructor is the host's code: a panic of it has nowhere to go.
        drop_isolated(self.work.take());
        match decided {
            End::Ended(asked_to_stop) => {
                if let Some(end) = self.after.end.take() {
                    // Fails where the driver is gone, which is where the tokio runtime ends.
                    let _ = end.send(WorkEnd { said, asked_to_stop, at });
                }
            }
            End::Abandoned => {
                self.after.late = self.after.late_report(said).map(Box::new);
                // Until the driver has settled the attempt, or is gone.
                if let Some(end) = &mut self.after.end {
                    end.closed().await;
                }
            }
        }
    }

    /// Does the work; a panic of it, also of its destructors, becomes an error.
    async fn guarded(&mut self) -> Said {
        let agent = self.after.subject.agent.clone();
        AssertUnwindSafe(self.call()).catch_unwind().await.unwrap_or_else(|payload| {
            let error = TaskError::new(ErrorCode::ExecutorPanicked, Worker(agent.as_ref()).panicked());
            Err(CoordinationError::new(match panic_detail(payload) {
                Some(text) => error.with_detail(text),
                None => error,
            }))
        })
    }

    async fn call(&mut self) -> Said {
        let (handle, team, previous) = (self.handle.clone(), self.team.clone(), self.previous.take());
        match &mut self.work {
            Some(Work::Agent(lease)) => {
                let ctx =
                    ExecutionContext::of_attempt(lease.agent().clone(), handle, self.after.scope.clone())
                        .with_team(team)
                        .with_grace(self.after.shared.grace)
                        .with_previous(previous)
                        .with_progress(self.progress.take());
                let work = lease.executor().execute(self.request.take().unwrap_or_default(), ctx);
                let said = if lease.capabilities().abort_on_cancel {
                    // Its future is dropped at its first yield after the signal.
                    tokio::select! {
                        biased;
                        () = self.after.scope.cancellation().cancelled() => Err(ExecutorError::cancelled()),
                        said = work => said,
                    }
                } else {
                    work.await
                };
                // Here, since the error's text is made by the host's code, which may panic as well.
                said.map_err(|error| CoordinationError::new(error.into_task_error()))
            }
            Some(Work::Body(_, body)) => match body.take() {
                Some(body) => {
                    let ctx = CoordinatedContext::new(handle, self.after.scope.clone(), team, previous);
                    body(ctx.with_grace(self.after.shared.grace)).await
                }
                None => Ok(TaskOutcome::cancelled()),
            },
            None => Ok(TaskOutcome::cancelled()),
        }
    }
}

/// Refuses whatever the work of a scope still asks for, and stops what it has asked for.
pub(crate) fn end_nested(scope: &Scope, shared: &Shared) {
    if let Some(running) = RunningTask::of(scope, &shared.slots) {
        running.end();
    }
    scope.cancellation().cancel();
}

impl AfterAbandonment {
    /// The report of what came late; none where the work says no more than that it stopped.
    fn late_report(&self, said: Said) -> Option<TaskReport> {
        let Subject { session, task, agent, .. } = &self.subject;
        let Conclusion { status, output, pause, error } =
            Conclusion::of_work(Worker(agent.as_ref()), said, None);
        if status == TaskStatus::Cancelled {
            return None;
        }
        let mut report = TaskReport::new(task.clone(), session.clone(), status);
        report.output = output;
        report.pause = pause;
        report.error = error;
        report.timing = Timing::new(self.began - self.started, self.began.elapsed());
        Some(report)
    }
}

impl Drop for AfterAbandonment {
    fn drop(&mut self) {
        // Where the tokio runtime ends before the work, this is its end, unless the driver gave up before.
        self.ending.end();
        end_nested(&self.scope, &self.shared);
        // Gone before the record is looked at: whoever comes second, this or the commit, sees what the other did.
        self.end = None;
        if self.ending.is_abandoned() {
            let late = self.late.take().map(|report| *report);
            end_of_detached(&self.shared, &self.session, &self.subject, self.started, late);
        }
    }
}

/// Marks the end of detached work, and tells of it, once its attempt is settled; does so once, whoever calls it.
pub(crate) fn end_of_detached(
    shared: &Shared,
    session: &Session,
    subject: &Subject,
    started: Instant,
    late: Option<TaskReport>,
) {
    if !session.detached_ended(&subject.task, subject.attempt, late) {
        return;
    }
    // Kept until all is told: a drain waits for it.
    let _under_way = shared.detached.take(&subject.session, &subject.task, subject.attempt);
    let status = session.snapshot().task(&subject.task).map(|record| record.status);
    shared.sessions.end_if_over(session.id());
    if let Some(status) = status {
        shared.telemetry.tell(TeamEventKind::DetachedEnded, subject, status, None, started.elapsed());
    }
}
