//! A sink that takes events at once and passes them on from a thread of its own.

mod builder;
mod queue;
mod settled;
mod worker;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    thread::{self, ThreadId},
};

use parking_lot::{Condvar, Mutex};

pub use self::{
    builder::BoundedAsyncBuilder,
    queue::{SinkCounters, WhenFull},
};
use self::{
    queue::Queue,
    settled::{Goal, Settled, Waiters},
};
use crate::{Event, EventSink, Failure, SinkError, isolation::drop_isolated};

/// Takes each event without waiting, and passes it on to a sink that may block.
///
/// The sink behind it is called on one thread, one event after the other in the order of publishing. Where it is slow,
/// up to 4,096 events wait (unless set) beside the one that it has, and where it is idle, an event may wait for a
/// millisecond until others have come; then events are dropped, the newest or the oldest,
/// and counted. Where it fails or panics, that is counted and the next event is passed on. The publisher sees none of
/// this: [`counters`](Self::counters) tells, and [`take_last_failure`](Self::take_last_failure).
///
/// It is for one owner; where a runtime and a host both need it, it goes into an [`Arc`], which is a sink too:
///
/// ```
/// use std::sync::Arc;
///
/// use convoke_observability::{BoundedAsyncSink, Event, EventId, EventSink, MemorySink};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), convoke_observability::SinkError> {
/// let memory = MemorySink::new();
/// let sink = Arc::new(BoundedAsyncSink::builder(memory.clone()).start()?);
///
/// sink.publish(Event::new(EventId::new("runtime-1", 0), 0, "team", "started", "draft"))?;
/// sink.flush().await?;
/// assert_eq!((memory.len(), sink.counters().delivered), (1, 1));
/// sink.close().await?;
/// # Ok(())
/// # }
/// ```
///
/// # The end of the thread
///
/// After [`close`](Self::close), or once this is dropped, nothing more is taken, what waits is still passed on, then the
/// sink behind is dropped and the thread ends. Dropping does not wait for that, so a process that ends right after it
/// may lose what waits: a host that cares awaits `close`.
pub struct BoundedAsyncSink {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Notified where the worker has something to do.
    work: Condvar,
    worker: OnceLock<ThreadId>,
}

struct State {
    queue: Queue<Event>,
    rest: Rest,
    waiters: Waiters,
    last_failure: Option<Failure<SinkError>>,
    /// `None` while the thread runs.
    end: Option<End>,
}

/// How the worker waits for something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// It does not.
    Awake,
    /// It looks again by itself in a moment, since more comes as a rule: waking it for each event would cost the publisher
    /// more than all else.
    Dozes,
    /// It is to be woken.
    Sleeps,
}

impl State {
    /// Whether the worker must be woken for what was just published.
    fn wakes_for_event(&self) -> bool {
        match self.rest {
            Rest::Awake => false,
            Rest::Dozes => self.queue.is_half_full(),
            Rest::Sleeps => true,
        }
    }
}

/// How the thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With everything passed on.
    Orderly,
    /// By a panic that should not have been.
    Unwound,
}

impl BoundedAsyncSink {
    /// Passes events on to `sink` once it is started.
    pub fn builder(sink: impl EventSink) -> BoundedAsyncBuilder {
        BoundedAsyncBuilder::new(sink)
    }

    /// How many events came, and what became of them; all counted at the same instant.
    pub fn counters(&self) -> SinkCounters {
        self.shared.state.lock().queue.counters()
    }

    /// The newest failure of the sink behind, once.
    pub fn take_last_failure(&self) -> Option<Failure<SinkError>> {
        self.shared.state.lock().last_failure.take()
    }

    /// Waits until every event that was published before the first poll is delivered, dropped or failed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    ///
    /// # Errors
    ///
    /// Where it is polled by the sink behind, on the worker's own thread: it would wait for itself. And where a panic
    /// ended the thread before it came so far.
    pub async fn flush(&self) -> Result<(), SinkError> {
        let published = self.shared.state.lock().queue.counters().published;
        Settled::new(&self.shared, Goal::Below(published)).await
    }

    /// Takes nothing more, and waits until what was taken is passed on and the thread has let go of the sink behind.
    ///
    /// # Cancel safety
    ///
    /// Once it was polled, dropping the future does not undo it: nothing more is taken, and the thread ends all the same.
    ///
    /// # Errors
    ///
    /// Where it is polled by the sink behind, on the worker's own thread: it would wait for itself. It is closed all the
    /// same. And where a panic ended the thread.
    pub async fn close(&self) -> Result<(), SinkError> {
        self.shared.close();
        Settled::new(&self.shared, Goal::Ended).await
    }
}

impl Shared {
    fn new(queue: Queue<Event>) -> Self {
        let state =
            State { queue, rest: Rest::Awake, waiters: Waiters::default(), last_failure: None, end: None };
        Self { state: Mutex::new(state), work: Condvar::new(), worker: OnceLock::new() }
    }

    fn close(&self) {
        self.state.lock().queue.close();
        self.work.notify_one();
    }

    fn is_worker(&self) -> bool {
        self.worker.get() == Some(&thread::current().id())
    }
}

/// The failure that nobody took is dropped by whoever comes last, the host or the worker: neither is to bear it.
impl Drop for Shared {
    fn drop(&mut self) {
        drop_isolated(self.state.get_mut().last_failure.take());
    }
}

impl EventSink for BoundedAsyncSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        let mut state = self.shared.state.lock();
        let pushed = state.queue.push(event);
        let wakes = state.wakes_for_event();
        drop(state);
        match pushed {
            Ok(dropped) => {
                // Freed here, where no lock is held.
                drop(dropped);
                if wakes {
                    self.shared.work.notify_one();
                }
                Ok(())
            }
            Err(_) => Err(SinkError::new("bounded sink is closed; publish before it is")),
        }
    }
}

impl Drop for BoundedAsyncSink {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl fmt::Debug for BoundedAsyncSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedAsyncSink").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
