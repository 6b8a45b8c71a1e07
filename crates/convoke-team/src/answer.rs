//! Answers, and who gets them.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use tokio::sync::{mpsc, oneshot};

use convoke_core::{TaskReport, TaskStatus};
use convoke_registry::{ProgressSender, TaskDriver, TeamError};

/// What an attempt gives: the report that its record has too. Whoever passes it on takes it out as late as may be, when
/// the session of an unnamed run is gone and nothing is copied.
pub(crate) type Answer = Result<Arc<TaskReport>, TeamError>;

/// Who gets the answer of an attempt.
pub(crate) enum Asker {
    /// The future of a run.
    Run(oneshot::Sender<Answer>),
    /// The handle of a task that runs on its own.
    Handle(TaskDriver),
    /// Whoever awaits a batch, with the place of the request in it.
    Batch(usize, mpsc::UnboundedSender<(usize, Answer)>),
}

impl Asker {
    /// Shows that the work has begun.
    pub(crate) fn works(&self) {
        if let Self::Handle(driver) = self {
            driver.set_status(TaskStatus::Working);
        }
    }

    /// The way for what the work says about itself, where somebody may read that.
    pub(crate) fn progress(&mut self) -> Option<ProgressSender> {
        let Self::Handle(driver) = self else { return None };
        driver.progress()
    }

    /// Ready when nobody waits for the answer any more, where that is a stop: of a run, and not of a handle or of a batch,
    /// which has a token.
    pub(crate) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Run(sender) => sender.poll_closed(cx),
            Self::Handle(_) | Self::Batch(..) => Poll::Pending,
        }
    }

    /// Whether nobody waits for the answer any more, where that is a stop.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Run(sender) if sender.is_closed())
    }

    /// There is no answer, because the tokio runtime ends or has no timer. Whoever has the other end hears of it when this
    /// one goes.
    pub(crate) fn lost(self) {
        if let Self::Run(sender) = self {
            drop(unwatched(sender));
        }
    }
}

/// An answer on its way. It is sent last, when nothing of the attempt is left that could be in the way of what follows it.
#[must_use = "an answer that is not sent is lost"]
pub(crate) struct Reply {
    asker: Asker,
    answer: Answer,
}

impl Reply {
    pub(crate) fn new(asker: Asker, answer: Answer) -> Self {
        Self { asker, answer }
    }

    /// Answers. Where nobody waits for it any more, the record has the report.
    pub(crate) fn send(self) {
        match self.asker {
            Asker::Run(sender) => _ = unwatched(sender).send(self.answer),
            Asker::Handle(driver) => driver.answer(self.answer.map(Arc::unwrap_or_clone)),
            Asker::Batch(place, sender) => _ = sender.send((place, self.answer)),
        }
    }
}

/// Takes the waker back, which holds what is left of the work: that goes here, and not where the answer is read.
fn unwatched(mut sender: oneshot::Sender<Answer>) -> oneshot::Sender<Answer> {
    let _ = sender.poll_closed(&mut Context::from_waker(Waker::noop()));
    sender
}
