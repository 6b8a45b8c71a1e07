//! Events and sinks that the tests share.

use std::{
    fmt,
    panic::panic_any,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use convoke_observability::{Event, EventId, EventSink, SinkError};

/// An event with nothing but what each event has, and `number` in its id.
pub(crate) fn event(number: u64) -> Event {
    Event::new(EventId::new("runtime", number), 1_000 + number, "team", "started", "draft")
}

/// The numbers in the ids of events.
pub(crate) fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.id.number()).collect()
}

/// An error with its sources, a line each.
pub(crate) fn lines(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect()
}

/// Fails with an error.
pub(crate) struct Failing;

impl EventSink for Failing {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        Err(SinkError::new(format!("collector refused `{}`", event.id)))
    }
}

/// An error, or what a panic throws, whose destructor throws another one.
#[derive(Debug)]
pub(crate) struct Bomb;

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("handle with care")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Self);
    }
}

/// Fails with an error that panics where it is dropped.
pub(crate) struct Bombing;

impl EventSink for Bombing {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        Err(SinkError::new(format!("collector refused `{}`", event.id)).with_source(Bomb))
    }
}

/// What `work` returns; it fails where that panics or hangs.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = channel();
    thread::spawn(move || done.send(work()));
    is_done.recv_timeout(Duration::from_secs(20)).unwrap()
}

/// Panics.
pub(crate) struct Panicking;

impl EventSink for Panicking {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        panic!("no state for `{}`", event.id)
    }
}

/// Fails for events whose number is 1, 4, 7, ..; panics for 2, 5, 8, ..
pub(crate) struct Moody;

impl EventSink for Moody {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        match event.id.number() % 3 {
            0 => Ok(()),
            1 => Failing.publish(event),
            _ => Panicking.publish(event),
        }
    }
}

/// Says that it has an event, then blocks until the test lets it go.
pub(crate) struct Gated {
    entered: Sender<u64>,
    go: Mutex<Receiver<()>>,
}

/// The test's side of a [`Gated`] sink; dropping it opens the gate for good.
pub(crate) struct Gate {
    pub(crate) entered: Receiver<u64>,
    pub(crate) go: Sender<()>,
}

impl Gated {
    pub(crate) fn new() -> (Self, Gate) {
        let (entered, entered_receiver) = channel();
        let (go, go_receiver) = channel();
        (Self { entered, go: Mutex::new(go_receiver) }, Gate { entered: entered_receiver, go })
    }
}

impl EventSink for Gated {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        // Both ends may be gone: then nobody wants to hold it any more.
        let _ = self.entered.send(event.id.number());
        let _ = self.go.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(())
    }
}
