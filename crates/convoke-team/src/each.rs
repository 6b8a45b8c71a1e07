//! The answers of a batch, each as it comes, for whoever awaits it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::stream::Stream;
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::DropGuard;

use convoke_core::{Scope, TaskId, TaskRequest};
use convoke_registry::{RunOptions, TeamError, Wait};

use crate::{answer::Answer, parallel::Batch, shared::Shared};

/// The answers to many requests as they come, each with the index of its request. It begins at the first poll; dropped
/// after that, it stops what has not answered.
pub(crate) struct Each {
    asked: Option<Box<Asked>>,
    left: Option<Left>,
}

/// What is asked for and has not begun.
struct Asked {
    shared: Arc<Shared>,
    requests: Vec<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
}

/// The answers that are still to come.
struct Left {
    answers: mpsc::UnboundedReceiver<(usize, Answer)>,
    /// The tasks that have not answered.
    tasks: Vec<Option<TaskId>>,
    /// How many they are.
    unanswered: usize,
    /// How many of the tasks were looked at since there are no more answers.
    lost: usize,
    /// Until the last answer.
    awaited: Option<Awaited>,
}

/// A batch, as whoever awaits it has it.
pub(crate) struct Awaited {
    pub(crate) wait: Option<Wait>,
    pub(crate) stop_on_drop: DropGuard,
}

impl Each {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> Self {
        Self { asked: Some(Box::new(Asked { shared, requests, options, caller })), left: None }
    }
}

impl Stream for Each {
    type Item = (usize, Answer);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(asked) = self.asked.take() {
            self.left = Some(asked.begin());
        }
        self.left.as_mut().map_or(Poll::Ready(None), |left| left.poll_next(cx))
    }
}

impl Asked {
    /// Puts the batch on a task of its own.
    fn begin(self) -> Left {
        let Self { shared, requests, options, caller } = self;
        let (sender, answers) = mpsc::unbounded_channel();
        let unanswered = requests.len();
        let Ok(runtime) = Handle::try_current() else {
            for index in 0..unanswered {
                // The other end is right here.
                let _ = sender.send((index, Err(TeamError::NoTokio)));
            }
            return Left { answers, tasks: Vec::new(), unanswered, lost: 0, awaited: None };
        };
        let (batch, tasks, awaited) = Batch::new(&shared, requests, options, caller, sender);
        runtime.spawn(async move {
            batch.run().await;
            shared.release();
        });
        let tasks = tasks.into_iter().map(Some).collect();
        Left { answers, tasks, unanswered, lost: 0, awaited: Some(awaited) }
    }
}

impl Left {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, Answer)>> {
        if self.unanswered == 0 {
            return Poll::Ready(None);
        }
        let next = ready!(self.answers.poll_recv(cx)).or_else(|| self.next_lost());
        if let Some((index, _)) = &next {
            if let Some(task) = self.tasks.get_mut(*index) {
                *task = None;
            }
            self.unanswered -= 1;
        }
        if self.unanswered == 0
            && let Some(Awaited { wait, stop_on_drop }) = self.awaited.take()
        {
            stop_on_drop.disarm();
            drop(wait);
        }
        Poll::Ready(next)
    }

    /// The next of those that have no answer: the tokio runtime has dropped all that could give one.
    fn next_lost(&mut self) -> Option<(usize, Answer)> {
        let mut tasks = self.tasks.iter_mut().enumerate().skip(self.lost);
        let (index, task) = tasks.find_map(|(index, task)| Some((index, task.take()?)))?;
        self.lost = index + 1;
        Some((index, Err(TeamError::Lost { task })))
    }
}
