//! A sink that writes a line of JSON per event to a file.

mod builder;
mod line_file;
mod log;

use std::{fmt, path::PathBuf};

use parking_lot::Mutex;

pub use self::builder::JsonLinesBuilder;
use self::log::Log;
use crate::{Event, EventSink, SinkError};

/// Writes each event as one line of JSON to a file, and keeps so many older files.
///
/// The file is made where it is missing and continued where it is there. A line is handed to the operating system in one
/// piece before [`publish`](EventSink::publish) returns, so that the end of the process loses none; it is not forced to
/// the disk, so that the end of the machine may. A file that is full (64 MiB unless set) becomes `<path>.1`, the one of
/// that name `<path>.2`, and so on; five older ones are kept unless set. A line that alone is longer than the limit
/// gets a file of its own. What is no regular file, a device say, is never replaced.
///
/// # No half lines
///
/// A write that fails midway is cut off again at once or, where that fails too, before the next line; where the file
/// cannot be cut, a line break ends the half line. As long as neither can be done, events are refused. So a good line
/// never continues a half one, and the publisher of a half one got an error. A file that is found to end midway, after
/// a crash, gets a line break first: its last line stays, as one that is no JSON.
///
/// # One sink for each file
///
/// The file is locked, where the system has locks that do not shut out readers: a second sink on it, here or in another
/// process, is refused.
///
/// # Errors
///
/// Opening, writing and replacing the file report what was done to which path. While a full file cannot be replaced,
/// events are refused: the limit holds. Writing may block on a slow disk; a
/// [`BoundedAsyncSink`](crate::BoundedAsyncSink) in front keeps that from the work.
///
/// ```
/// use convoke_observability::{Event, EventId, EventSink, JsonLinesSink};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("events.jsonl");
/// let sink = JsonLinesSink::builder(&path).rotate_at(1024 * 1024).keep(3).open()?;
/// sink.publish(Event::new(EventId::new("runtime-1", 0), 0, "team", "started", "draft"))?;
/// assert_eq!(
///     std::fs::read_to_string(&path)?,
///     "{\"id\":\"runtime-1/0\",\"unix_millis\":0,\"module\":\"team\",\"name\":\"started\",\"subject\":\"draft\"}\n"
/// );
/// # Ok(())
/// # }
/// ```
pub struct JsonLinesSink(Mutex<Log>);

impl JsonLinesSink {
    /// Writes to the file at `path`, with the limits that hold unless set.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or another sink has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SinkError> {
        Self::builder(path).open()
    }

    /// Sets the limits first.
    pub fn builder(path: impl Into<PathBuf>) -> JsonLinesBuilder {
        JsonLinesBuilder::new(path.into())
    }
}

impl EventSink for JsonLinesSink {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        let mut line = serde_json::to_vec(&event)
            .map_err(|error| SinkError::new(format!("event `{}` is no JSON", event.id)).with_source(error))?;
        line.push(b'\n');
        self.0.lock().append(&line)
    }
}

impl fmt::Debug for JsonLinesSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonLinesSink").field(&self.0.lock().path()).finish()
    }
}
