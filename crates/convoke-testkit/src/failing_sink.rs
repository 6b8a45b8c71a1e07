//! A sink that fails on purpose.

use convoke_observability::{Event, EventSink, SinkError};

use crate::faults::Faults;

/// Takes no event, or none any more: by an error, or by a panic. Cloning shares the count.
///
/// ```
/// use convoke_observability::{Event, EventId, EventSink, publish_isolated};
/// use convoke_testkit::FailingSink;
///
/// let event = Event::new(EventId::new("runtime-1", 0), 0, "team", "started", "draft");
/// let sink = FailingSink::after(1);
/// assert!(sink.publish(event.clone()).is_ok());
/// assert!(sink.publish(event.clone()).is_err());
/// assert_eq!(sink.calls(), 2);
/// assert!(publish_isolated(&FailingSink::always().panicking(), event).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct FailingSink(Faults);

impl FailingSink {
    /// Fails for each event.
    pub fn always() -> Self {
        Self::after(0)
    }

    /// Takes so many events, and fails from then on.
    pub fn after(events: u64) -> Self {
        Self(Faults::after(events))
    }

    /// Fails by a panic instead of an error.
    #[must_use]
    pub fn panicking(self) -> Self {
        Self(self.0.panicking())
    }

    /// How many events came, taken or not.
    pub fn calls(&self) -> u64 {
        self.0.calls()
    }
}

impl EventSink for FailingSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        if self.0.strikes() {
            return Err(SinkError::new(format!("event `{}` is refused on purpose", event.id)));
        }
        Ok(())
    }
}
