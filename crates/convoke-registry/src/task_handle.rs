//! A task that runs on its own: its handle, and the runtime's end of it.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use convoke_core::{ErrorCode, Scope, SessionId, TaskError, TaskId, TaskReport, TaskStatus};

use crate::{
    ProgressSender, RunningTask, Slots, TaskClaim, TeamError, Updates, Wait, dispatch::ClaimKey,
    progress::progress_channel, running::RefusedWait,
};

/// A task that runs on its own; a future of its report.
///
/// Dropping the handle does not stop the task. [`cancel`](Self::cancel) does.
///
/// A task that awaits the handle of another lends it its slot meanwhile. Where the wait could never end, because the
/// other needs what the waiter has, the answer is a report of attempt 0 with the code `wait_cycle`: it is about the wait,
/// and the task behind the handle goes on. So it does where the waiter is given up itself and works on, detached: then
/// the code is `invalid_request`.
#[must_use = "the task runs on its own, but its report is only here"]
pub struct TaskHandle {
    task: TaskId,
    stop: CancellationToken,
    status: Arc<AtomicU8>,
    updates: Option<Updates>,
    answer: oneshot::Receiver<Result<TaskReport, TeamError>>,
    place: Option<(Awaitable, SessionId)>,
    /// The wait of the task that polls this.
    wait: Option<Wait>,
    /// Resolves once nobody waits for that task itself any more.
    given_up: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// Where the task behind a handle stands among those who wait for each other.
#[derive(Debug)]
pub struct Awaitable {
    slots: Slots,
    claim: ClaimKey,
    refused: Arc<RefusedWait>,
    /// The task that started it, which awaits it also where another task polls the handle for it.
    starter: Option<Scope>,
}

impl Awaitable {
    /// The task that has `claim` under the limit `slots`; `starter` is the scope of the task that started it, if one did.
    pub fn new(slots: &Slots, claim: &TaskClaim, starter: Option<Scope>) -> Self {
        Self { slots: slots.clone(), claim: claim.key(), refused: claim.refused_wait(), starter }
    }
}

impl TaskHandle {
    /// A handle for `task`, and the end of it that whoever runs the task keeps. Signalling `stop` asks for a stop.
    pub fn new(task: TaskId, stop: CancellationToken) -> (Self, TaskDriver) {
        let (sender, answer) = oneshot::channel();
        let (progress, updates) = progress_channel();
        let status = Arc::new(AtomicU8::new(encode(TaskStatus::Submitted)));
        let driver = TaskDriver {
            task: task.clone(),
            status: Arc::clone(&status),
            progress: Some(progress),
            answer: Some(sender),
        };
        let updates = Some(updates);
        (Self { task, stop, status, updates, answer, place: None, wait: None, given_up: None }, driver)
    }

    /// A handle of what has its answer already.
    pub(crate) fn answered(report: TaskReport) -> Self {
        let (handle, driver) = Self::new(report.task.clone(), CancellationToken::new());
        driver.answer(Ok(report));
        handle
    }

    /// Lets a task that awaits the handle lend its slot to the one behind it, which belongs to `session`, and hear where
    /// the wait could never end.
    pub fn awaitable(mut self, place: Awaitable, session: SessionId) -> Self {
        self.place = Some((place, session));
        self
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// Asks the task to stop; its report says how it ended.
    pub fn cancel(&self) {
        self.stop.cancel();
    }

    /// Where the task stands now.
    pub fn status(&self) -> TaskStatus {
        decode(self.status.load(Ordering::Acquire))
    }

    /// What the running task says about itself, from its start; `None` from the second call on.
    pub fn updates(&mut self) -> Option<Updates> {
        self.updates.take()
    }

    /// Notes who awaits the task; an error where that could never end, or where the waiter is given up.
    fn note_wait(&mut self, cx: &mut Context<'_>) -> Result<(), TaskError> {
        let Some((place, _)) = &self.place else { return Ok(()) };
        let current = Scope::current().filter(|scope| RunningTask::of(scope, &place.slots).is_some());
        let is_current = current.is_some();
        let waiter = current.or_else(|| place.starter.clone());
        let Some(running) = waiter.as_ref().and_then(|scope| RunningTask::of(scope, &place.slots)) else {
            (self.wait, self.given_up) = (None, None);
            return Ok(());
        };
        let refused = place.refused.poll(cx);
        let is_known = self.wait.as_ref().is_some_and(|wait| wait.is_of(running));
        if !is_known {
            // The one before ends first: a task is awaited by one at a time.
            self.wait = None;
            // Whoever has the handle of a task that another one started is not given up with that one.
            self.given_up = is_current.then(|| Box::pin(running.given_up()));
        }
        if self.given_up.as_mut().is_some_and(|given_up| given_up.as_mut().poll(cx).is_ready()) {
            let text =
                "task that awaits it was given up, and may await nothing any more; the task itself goes on";
            return Err(TaskError::new(ErrorCode::InvalidRequest, text));
        }
        if is_known {
            return refused.map_or(Ok(()), |refusal| Err(refusal.into()));
        }
        self.wait = running.wait();
        match &self.wait {
            Some(wait) => Ok(wait.on(place.claim)?),
            None => Ok(()),
        }
    }

    /// The answer to who may not await this; the task itself goes on.
    fn refused(&mut self, error: TaskError) -> Result<TaskReport, TeamError> {
        (self.wait, self.given_up) = (None, None);
        let lost = || TeamError::Lost { task: self.task.clone() };
        let session = self.place.as_ref().map(|(_, session)| session.clone()).ok_or_else(lost)?;
        let mut report = TaskReport::new(self.task.clone(), session, error.code().status());
        report.error = Some(error);
        Ok(report)
    }
}

impl Future for TaskHandle {
    type Output = Result<TaskReport, TeamError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(cx) {
            (self.wait, self.given_up) = (None, None);
            return Poll::Ready(answer.unwrap_or_else(|_| Err(TeamError::Lost { task: self.task.clone() })));
        }
        match self.note_wait(cx) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(self.refused(error)),
        }
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("task", &self.task)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// The end of a [`TaskHandle`] that whoever runs the task keeps. Dropping it without an answer tells the handle that the
/// task was lost.
#[derive(Debug)]
pub struct TaskDriver {
    task: TaskId,
    status: Arc<AtomicU8>,
    progress: Option<ProgressSender>,
    answer: Option<oneshot::Sender<Result<TaskReport, TeamError>>>,
}

impl TaskDriver {
    /// The task.
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// Shows where the task stands.
    pub fn set_status(&self, status: TaskStatus) {
        self.status.store(encode(status), Ordering::Release);
    }

    /// The end of the updates that the executor's context has; they end with the last copy of it. `None` from the second
    /// call on.
    pub fn progress(&mut self) -> Option<ProgressSender> {
        self.progress.take()
    }

    /// Answers whoever holds the handle. Where nobody does any more, the record of the task has the report.
    pub fn answer(mut self, answer: Result<TaskReport, TeamError>) {
        if let Ok(report) = &answer {
            self.set_status(report.status);
        } else if let Err(TeamError::Telemetry { report }) = &answer {
            self.set_status(report.status);
        }
        self.progress = None;
        if let Some(sender) = self.answer.take() {
            // An error is the answer itself, of a handle that was dropped.
            let _ = sender.send(answer);
        }
    }
}

impl Drop for TaskDriver {
    fn drop(&mut self) {
        if self.answer.is_some() {
            self.set_status(TaskStatus::Failed);
        }
    }
}

fn encode(status: TaskStatus) -> u8 {
    status as u8
}

fn decode(status: u8) -> TaskStatus {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    let all = [Submitted, Working, InputRequired, Completed, Failed, Blocked, Cancelled, TimedOut];
    all.into_iter().find(|&one| encode(one) == status).unwrap_or(Submitted)
}
