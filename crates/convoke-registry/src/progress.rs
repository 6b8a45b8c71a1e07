//! Progress: what a running task says about itself, bounded and lossy.

use std::{collections::VecDeque, future::poll_fn, pin::pin, sync::Arc, task::Poll};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::awaiting::Awaiting;

/// How many updates wait for a reader; the oldest goes first when there are more.
pub(crate) const BUFFERED_UPDATES: usize = 64;

/// What a running task says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing, for a person.
    pub text: String,
    /// How far it is, from 0 to 1.
    pub fraction: Option<f32>,
}

impl Progress {
    /// Says what the task is doing.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), fraction: None }
    }

    /// Says how far it is; clamped to 0 to 1, and left out where it is no number.
    #[must_use]
    pub fn with_fraction(mut self, fraction: f32) -> Self {
        self.fraction = (!fraction.is_nan()).then(|| fraction.clamp(0.0, 1.0));
        self
    }
}

impl From<&str> for Progress {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Progress {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[derive(Debug, Default)]
struct Buffer {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    updates: VecDeque<Progress>,
    missed: u64,
    ended: bool,
}

/// The running task's end of its updates; the last copy to go ends them.
#[derive(Clone, Debug)]
pub struct ProgressSender(Arc<Sending>);

#[derive(Debug)]
struct Sending(Arc<Buffer>);

impl ProgressSender {
    pub(crate) fn send(&self, progress: Progress) {
        let buffer = &self.0.0;
        let mut waiting = buffer.waiting.lock();
        if waiting.updates.len() == BUFFERED_UPDATES {
            waiting.updates.pop_front();
            waiting.missed += 1;
        }
        waiting.updates.push_back(progress);
        drop(waiting);
        buffer.changed.notify_one();
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.waiting.lock().ended = true;
        self.0.changed.notify_one();
    }
}

/// The updates of one task, oldest first. At most 64 wait; older ones are dropped and counted.
#[derive(Debug)]
pub struct Updates {
    buffer: Arc<Buffer>,
    /// Shared with the handle, since reading is waiting too.
    awaiting: Option<Awaiting>,
}

impl Updates {
    pub(crate) fn awaiting(mut self, awaiting: Awaiting) -> Self {
        self.awaiting = Some(awaiting);
        self
    }

    /// The next update; `None` once the work has ended and all are read, or where who reads may not await the task: then
    /// the handle says why.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no update.
    pub async fn next(&mut self) -> Option<Progress> {
        loop {
            {
                let mut waiting = self.buffer.waiting.lock();
                if let Some(update) = waiting.updates.pop_front() {
                    return Some(update);
                }
                if waiting.ended {
                    return None;
                }
            }
            let mut changed = pin!(self.buffer.changed.notified());
            let is_refused = poll_fn(|cx| {
                if changed.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(false);
                }
                match self.awaiting.as_ref().map_or(Ok(()), |awaiting| awaiting.note(cx)) {
                    Ok(()) => Poll::Pending,
                    Err(_) => Poll::Ready(true),
                }
            });
            if is_refused.await {
                return None;
            }
        }
    }

    /// How many updates were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.buffer.waiting.lock().missed
    }
}

pub(crate) fn progress_channel() -> (ProgressSender, Updates) {
    let buffer = Arc::new(Buffer::default());
    (ProgressSender(Arc::new(Sending(Arc::clone(&buffer)))), Updates { buffer, awaiting: None })
}
