//! A sink that passes events on to the `tracing` crate.

use tracing::field;

use crate::{Event, EventSink, SinkError};

/// Makes each event an event of the `tracing` crate: target `convoke`, level info, the event's name as the message, and
/// its ids, states and counts as fields of the same names (`elapsed_micros` for the duration). What is absent is no
/// field; the further values are one field, `attributes`, written `name=value name=value`.
///
/// It opens no spans: an event belongs to the span in which the runtime published it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingSink;

impl TracingSink {
    /// Passes events on to the subscriber of the thread that publishes.
    pub fn new() -> Self {
        Self
    }
}

impl EventSink for TracingSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        tracing::event!(
            target: "convoke",
            tracing::Level::INFO,
            id = %event.id,
            unix_millis = event.unix_millis,
            module = event.module,
            name = event.name,
            subject = &*event.subject,
            trace_id = event.trace_id.as_deref(),
            parents = (!event.parents.is_empty()).then(|| field::debug(&event.parents)),
            session = event.session.as_ref().map(field::display),
            agent = event.agent.as_ref().map(field::display),
            task = event.task.as_ref().map(field::display),
            step = event.step.as_ref().map(field::display),
            attempt = event.attempt,
            status = event.status,
            elapsed_micros = event.elapsed.map(|elapsed| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)),
            attributes = (!event.attributes.is_empty()).then(|| field::display(&event.attributes)),
            "{}",
            event.name
        );
        Ok(())
    }
}
