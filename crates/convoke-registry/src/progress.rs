//! Progress: what a running task says about itself, bounded and lossy.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;

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
pub struct Updates(Arc<Buffer>);

impl Updates {
    /// The next update; `None` once the work has ended and all are read.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no update.
    pub async fn next(&mut self) -> Option<Progress> {
        loop {
            {
                let mut waiting = self.0.waiting.lock();
                if let Some(update) = waiting.updates.pop_front() {
                    return Some(update);
                }
                if waiting.ended {
                    return None;
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// How many updates were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.0.waiting.lock().missed
    }
}

pub(crate) fn progress_channel() -> (ProgressSender, Updates) {
    let buffer = Arc::new(Buffer::default());
    (ProgressSender(Arc::new(Sending(Arc::clone(&buffer)))), Updates(buffer))
}
