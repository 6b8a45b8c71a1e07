//! Ids of events: which runtime, and the how manieth of its events.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Serialize, Serializer};

/// Names an event: the runtime that made it, and its number there.
///
/// Written as `<runtime>/<number>`. Numbers rise in the order in which the ids were made, which is the order of the
/// events of one task; between tasks that run at the same time it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    runtime: Arc<str>,
    number: u64,
}

impl EventId {
    /// An id that is known already, for a test or an event from elsewhere; a runtime takes its own from [`EventIds`].
    pub fn new(runtime: impl Into<Arc<str>>, number: u64) -> Self {
        Self { runtime: runtime.into(), number }
    }

    /// The runtime that made the event.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// The number of the event in its runtime, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.runtime, self.number)
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Makes the ids of one runtime's events.
///
/// ```
/// use convoke_observability::EventIds;
///
/// let ids = EventIds::new("runtime-1");
/// assert_eq!(ids.next_id().to_string(), "runtime-1/0");
/// assert_eq!(ids.next_id().to_string(), "runtime-1/1");
/// ```
#[derive(Debug)]
pub struct EventIds {
    runtime: Arc<str>,
    next: AtomicU64,
}

impl EventIds {
    /// Ids of the runtime called `runtime`, from 0. Events are told apart across processes only where no two runtimes
    /// have the same name.
    pub fn new(runtime: impl Into<Arc<str>>) -> Self {
        Self { runtime: runtime.into(), next: AtomicU64::new(0) }
    }

    /// An id that was not given before. Takes no lock and allocates nothing.
    pub fn next_id(&self) -> EventId {
        EventId { runtime: Arc::clone(&self.runtime), number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}
