//! The listening end of a broadcast.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::Event;

/// Listens to a [`BroadcastSink`](crate::BroadcastSink) from where it was made. Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    receiver: Receiver<Arc<Event>>,
    missed: u64,
    missed_by_all: Arc<AtomicU64>,
}

impl Subscription {
    pub(super) fn new(receiver: Receiver<Arc<Event>>, missed_by_all: Arc<AtomicU64>) -> Self {
        Self { receiver, missed: 0, missed_by_all }
    }

    /// The next event; `None` once every handle of the sink is dropped and all events were read. Events that this
    /// subscription was too slow for are skipped and counted.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Closed) => return None,
                Err(RecvError::Lagged(missed)) => {
                    self.missed = self.missed.saturating_add(missed);
                    self.missed_by_all.fetch_add(missed, Ordering::Relaxed);
                }
            }
        }
    }

    /// How many events this subscription was too slow for, as far as it has read.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
