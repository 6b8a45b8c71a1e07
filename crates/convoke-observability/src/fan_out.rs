//! A sink that passes events on to several.

use std::iter;

use crate::{AnySink, Event, EventSink, Failure, SinkError, is_taken, publish_isolated};

/// Passes each event on to every one of its sinks, in order.
///
/// All of them are tried, whatever the ones before did; then the first failure is returned. A sink that panics counts as
/// one that failed.
///
/// ```
/// use convoke_observability::{FanOutSink, JsonLinesSink, MemorySink};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("events.jsonl");
/// let memory = MemorySink::new();
/// let sink = FanOutSink::new().with_sink(memory.clone()).with_sink(JsonLinesSink::open(path)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct FanOutSink(Vec<AnySink>);

impl FanOutSink {
    /// Passes events on to nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sink, after the others.
    #[must_use]
    pub fn with_sink(mut self, sink: impl EventSink) -> Self {
        self.0.push(AnySink::new(sink));
        self
    }
}

impl FromIterator<AnySink> for FanOutSink {
    fn from_iter<I: IntoIterator<Item = AnySink>>(sinks: I) -> Self {
        Self(sinks.into_iter().collect())
    }
}

impl EventSink for FanOutSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        let mut first = None;
        // One copy for each sink but the last, which takes the event itself.
        let events = iter::repeat_n(event, self.0.len());
        for (index, (sink, event)) in self.0.iter().zip(events).enumerate() {
            if first.is_some() {
                is_taken(|| sink.publish(event));
            } else if let Err(failure) = publish_isolated(sink, event) {
                first = Some((index, failure));
            }
        }
        let Some((index, failure)) = first else { return Ok(()) };
        let place = format!("sink {} of {}", index + 1, self.0.len());
        Err(match failure {
            Failure::Returned(error) => {
                SinkError::new(format!("{place} did not take the event")).with_source(error)
            }
            Failure::Panicked { detail: None } => SinkError::new(format!("{place} panicked")),
            Failure::Panicked { detail: Some(detail) } => {
                SinkError::new(format!("{place} panicked")).with_source(detail)
            }
        })
    }
}
