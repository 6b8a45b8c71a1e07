//! Why a sink did not take an event.

use std::{borrow::Cow, error::Error};

/// A sink did not take an event.
///
/// ```
/// use std::{error::Error, io};
///
/// use convoke_observability::SinkError;
///
/// let error = SinkError::new("event log `/var/log/team` cannot be written")
///     .with_source(io::Error::from(io::ErrorKind::StorageFull));
/// assert_eq!(error.to_string(), "event log `/var/log/team` cannot be written");
/// assert!(error.source().is_some());
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    message: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl SinkError {
    /// Says what was not done, to what (a path, an address), and what to do about it.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Adds the cause. The message does not repeat it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
