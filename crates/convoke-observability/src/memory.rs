//! A sink that keeps events in memory.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;

use crate::{Event, EventSink, SinkError};

const DEFAULT_CAPACITY: usize = 10_000;

/// Keeps the newest events in memory: 10,000 unless set. A clone is another handle to the same events.
#[derive(Clone, Debug)]
pub struct MemorySink(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    forgotten: u64,
}

impl MemorySink {
    /// Keeps the newest 10,000 events.
    pub fn new() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }

    /// Keeps the newest `capacity` events.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Arc::new(Kept { capacity, state: Mutex::default() }))
    }

    /// Keeps every event until [`clear`](Self::clear).
    pub fn unlimited() -> Self {
        Self::with_capacity(usize::MAX)
    }

    /// The events that are kept, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.0.state.lock().events.iter().cloned().collect()
    }

    /// How many events are kept.
    pub fn len(&self) -> usize {
        self.0.state.lock().events.len()
    }

    /// Whether no event is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events had to make room for newer ones.
    pub fn forgotten(&self) -> u64 {
        self.0.state.lock().forgotten
    }

    /// Forgets all events and sets [`forgotten`](Self::forgotten) back to 0.
    pub fn clear(&self) {
        *self.0.state.lock() = State::default();
    }
}

impl Default for MemorySink {
    fn default() -> Self {
        Self::new()
    }
}

impl EventSink for MemorySink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        let mut state = self.0.state.lock();
        state.events.push_back(event);
        if state.events.len() > self.0.capacity {
            state.events.pop_front();
            state.forgotten += 1;
        }
        Ok(())
    }
}
