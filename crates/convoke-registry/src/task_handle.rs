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
use tokio_util::sync::CancellationToken;

use convoke_core::{SessionId, TaskError, TaskId, TaskReport, TaskStatus};

use crate::{Awaitable, ProgressSender, TeamError, Updates, awaiting::Awaiting, progress::progress_channel};

/// A task that runs on its own; a future of its report.
///
/// Dropping the handle does not stop the task. [`cancel`](Self::cancel) does.
///
/// A task that awaits the handle of another lends it its slot meanwhile. Where the wait could never end, because the
/// other needs what the waiter has, the answer is a report of attempt 0 with the code `wait_cycle`: it is about the wait,
/// and the task behind the handle goes on. So it does where the waiter is given up itself and works on, detached: then
/// the code is `invalid_request`. Await `&mut handle` to keep the handle for another try, or to [cancel](Self::cancel).
///
/// A task is awaited by one at a time: of several that poll one handle, the last; reading its
/// [updates](Self::updates) counts too. The wait lasts until the task ends, or until handle and updates are dropped: then
/// the slot is the waiter's again at once, and the task takes one of its own, beyond the limit if none is free.
///
/// The handle of a nested task counts as awaited by the task that started it where it is polled outside of any task: do
/// not give it to a host.
#[must_use = "the task runs on its own, but its report is only here"]
pub struct TaskHandle {
    task: TaskId,
    stop: CancellationToken,
    status: Arc<AtomicU8>,
    updates: Option<Updates>,
    answer: oneshot::Receiver<Result<TaskReport, TeamError>>,
    /// Who awaits it, and the session that a refusal of that names.
    awaiting: Option<(Awaiting, SessionId)>,
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
        (Self { task, stop, status, updates: Some(updates), answer, awaiting: None }, driver)
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
        let awaiting = Awaiting::new(place);
        self.updates = self.updates.map(|updates| updates.awaiting(awaiting.clone()));
        self.awaiting = Some((awaiting, session));
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

    /// What the running task says about itself, from its start; `None` from the second call on. A task that reads them
    /// awaits the one behind the handle, as if it polled the handle.
    pub fn updates(&mut self) -> Option<Updates> {
        self.updates.take()
    }

    /// The answer to who may not await this; the task itself goes on.
    fn refused(&mut self, error: TaskError) -> Result<TaskReport, TeamError> {
        let lost = || TeamError::Lost { task: self.task.clone() };
        // Kept: whoever awaits the handle again is a waiter again.
        let (awaiting, session) = self.awaiting.as_ref().ok_or_else(lost)?;
        awaiting.end();
        let session = session.clone();
        let mut report = TaskReport::new(self.task.clone(), session, error.code().status());
        report.error = Some(error);
        Ok(report)
    }
}

impl Future for TaskHandle {
    type Output = Result<TaskReport, TeamError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(cx) {
            if let Some((awaiting, _)) = self.awaiting.take() {
                awaiting.end();
            }
            return Poll::Ready(answer.unwrap_or_else(|_| Err(TeamError::Lost { task: self.task.clone() })));
        }
        match self.awaiting.as_ref().map_or(Ok(()), |(awaiting, _)| awaiting.note(cx)) {
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
