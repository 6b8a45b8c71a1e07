//! The contract of a sink.

use std::sync::Arc;

use crate::{Event, SinkError};

/// Takes events. Every runtime calls it through [`publish_isolated`](crate::publish_isolated) or
/// [`is_taken`](crate::is_taken).
///
/// ```
/// use convoke_observability::{Event, EventSink, SinkError};
///
/// struct Names;
///
/// impl EventSink for Names {
///     fn publish(&self, event: Event) -> Result<(), SinkError> {
///         println!("{} {}", event.module, event.name);
///         Ok(())
///     }
/// }
/// ```
///
/// # Contract
///
/// - It is called on the threads that do the work, from many at a time, outside all locks; the events of one task come
///   in order.
/// - It must not block, and should return within microseconds: the work waits for it. One that writes to a disk that
///   may be slow, to a network, or waits for a lock belongs behind a [`BoundedAsyncSink`](crate::BoundedAsyncSink).
/// - It must not call back into the runtime that publishes the event.
///
/// # Errors
///
/// A [`SinkError`] says that the event was not taken. The runtime counts it and, unless told to pass it on, goes on; it
/// does not publish the event again.
///
/// # Panics
///
/// A panic counts as a failure. The sink is called again for the next event, so it must leave its own state in order.
pub trait EventSink: Send + Sync + 'static {
    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Where the event was not taken.
    fn publish(&self, event: Event) -> Result<(), SinkError>;
}

impl<S: EventSink + ?Sized> EventSink for Arc<S> {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        (**self).publish(event)
    }
}

impl<S: EventSink + ?Sized> EventSink for Box<S> {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        (**self).publish(event)
    }
}
