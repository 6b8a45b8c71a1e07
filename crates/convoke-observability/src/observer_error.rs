//! Why an observer of typed events did not take one.

use std::{error::Error, fmt};

/// Why an observer did not take an event. Any error becomes one by `?`.
pub struct ObserverError(Box<dyn Error + Send + Sync>);

impl ObserverError {
    /// An error with a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// The cause.
    pub fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ObserverError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for ObserverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
