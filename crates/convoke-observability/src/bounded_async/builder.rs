//! Setting up a bounded sink.

use std::{fmt, sync::Arc, thread};

use super::{BoundedAsyncSink, Queue, Shared, WhenFull, worker};
use crate::{AnySink, EventSink, SinkError};

const DEFAULT_CAPACITY: usize = 4_096;

/// Sets how a [`BoundedAsyncSink`] holds events back.
#[must_use = "a builder does nothing until `start`"]
pub struct BoundedAsyncBuilder {
    sink: AnySink,
    capacity: usize,
    when_full: WhenFull,
}

impl BoundedAsyncBuilder {
    pub(super) fn new(sink: impl EventSink) -> Self {
        Self { sink: AnySink::new(sink), capacity: DEFAULT_CAPACITY, when_full: WhenFull::default() }
    }

    /// Sets how many events may wait, beside the one that the sink behind has; 4,096 unless set. Zero is refused.
    pub fn with_capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity;
        self
    }

    /// Sets which event is dropped where all places are taken; the newest unless set.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Starts the thread that calls the sink behind.
    ///
    /// # Errors
    ///
    /// Where the capacity is zero, or the system gives no thread.
    pub fn start(self) -> Result<BoundedAsyncSink, SinkError> {
        if self.capacity == 0 {
            return Err(SinkError::new("capacity of the bounded sink is 0; give it 1 or more"));
        }
        let shared = Arc::new(Shared::new(Queue::new(self.capacity, self.when_full)));
        let (for_worker, sink) = (Arc::clone(&shared), self.sink);
        thread::Builder::new()
            .name("convoke-events".into())
            .spawn(move || worker::run(&for_worker, sink))
            .map_err(|error| SinkError::new("bounded sink has no thread to run on").with_source(error))?;
        Ok(BoundedAsyncSink { shared })
    }
}

impl fmt::Debug for BoundedAsyncBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedAsyncBuilder")
            .field("capacity", &self.capacity)
            .field("when_full", &self.when_full)
            .finish_non_exhaustive()
    }
}
