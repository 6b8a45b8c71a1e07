//! A sink that passes events on to whoever listens.

mod subscription;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::broadcast;

pub use self::subscription::Subscription;
use crate::{Event, EventSink, SinkError};

const DEFAULT_CAPACITY: usize = 1_024;
const MAX_CAPACITY: usize = 65_536;

/// Passes each event on to every subscription, for user interfaces: they come and go, and a slow one loses events
/// instead of holding up the work. A clone is another handle to the same subscriptions.
///
/// The newest 1,024 events are held for those that lag (unless set); a subscription that is further behind misses the
/// oldest, which is counted. Where nobody listens, an event is gone, and that is no failure.
///
/// ```
/// use convoke_observability::{BroadcastSink, Event, EventId, EventSink};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), convoke_observability::SinkError> {
/// let sink = BroadcastSink::new();
/// let mut subscription = sink.subscribe();
///
/// sink.publish(Event::new(EventId::new("runtime-1", 0), 0, "team", "started", "draft"))?;
/// drop(sink);
///
/// assert_eq!(subscription.next().await.unwrap().name, "started");
/// assert!(subscription.next().await.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BroadcastSink {
    sender: broadcast::Sender<Arc<Event>>,
    missed: Arc<AtomicU64>,
}

impl BroadcastSink {
    /// Holds the newest 1,024 events for those that lag.
    pub fn new() -> Self {
        Self::holding(DEFAULT_CAPACITY)
    }

    /// Holds at least the newest `capacity` events for those that lag; the places are set aside at once, and their
    /// number is rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// Where `capacity` is not from 1 to 65,536.
    pub fn with_capacity(capacity: usize) -> Result<Self, SinkError> {
        if (1..=MAX_CAPACITY).contains(&capacity) {
            Ok(Self::holding(capacity))
        } else {
            Err(SinkError::new(format!(
                "capacity of the broadcast is {capacity}; give it 1 to {MAX_CAPACITY}"
            )))
        }
    }

    fn holding(capacity: usize) -> Self {
        Self { sender: broadcast::Sender::new(capacity), missed: Arc::default() }
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self.sender.subscribe(), Arc::clone(&self.missed))
    }

    /// How many subscriptions there are.
    pub fn subscriptions(&self) -> usize {
        self.sender.receiver_count()
    }

    /// How many events subscriptions found missing, all together.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

impl Default for BroadcastSink {
    fn default() -> Self {
        Self::new()
    }
}

impl EventSink for BroadcastSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        if self.sender.receiver_count() > 0 {
            // An error says that the last one has just gone.
            let _ = self.sender.send(Arc::new(event));
        }
        Ok(())
    }
}
