//! Any sink as one type.

use std::{fmt, sync::Arc};

use crate::{Event, EventSink, SinkError};

/// Any [`EventSink`] as one type that is cheap to clone: for fields, lists, and choices made at run time.
#[derive(Clone)]
pub struct AnySink(Arc<dyn EventSink>);

impl AnySink {
    /// Wraps a sink.
    pub fn new(sink: impl EventSink) -> Self {
        Self(Arc::new(sink))
    }
}

impl<S: EventSink> From<Arc<S>> for AnySink {
    fn from(sink: Arc<S>) -> Self {
        Self(sink)
    }
}

impl EventSink for AnySink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        self.0.publish(event)
    }
}

impl fmt::Debug for AnySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnySink")
    }
}
