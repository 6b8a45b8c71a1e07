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

use convoke_core::{TaskId, TaskReport, TaskStatus};

use crate::{
    TeamError, Updates,
    progress::{ProgressSender, progress_channel},
};

/// A task that runs on its own; a future of its report.
///
/// Dropping the handle does not stop the task. [`cancel`](Self::cancel) does.
#[must_use = "the task runs on its own, but its report is only here"]
pub struct TaskHandle {
    task: TaskId,
    stop: CancellationToken,
    status: Arc<AtomicU8>,
    updates: Option<Updates>,
    answer: oneshot::Receiver<Result<TaskReport, TeamError>>,
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
            progress: Some(Arc::new(progress)),
            answer: Some(sender),
        };
        (Self { task, stop, status, updates: Some(updates), answer }, driver)
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
}

impl Future for TaskHandle {
    type Output = Result<TaskReport, TeamError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.answer).poll(cx);
        answer.map(|answer| answer.unwrap_or_else(|_| Err(TeamError::Lost { task: self.task.clone() })))
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
    progress: Option<Arc<ProgressSender>>,
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

    /// Gives the executor's context its end of the updates; they end with the last copy of it.
    pub(crate) fn take_progress(&mut self) -> Option<Arc<ProgressSender>> {
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
