//! The runtime's clock: tokio's, which tests can pause, tied once to the wall clock.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Wall-clock times that advance as tokio's clock does.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    wall: SystemTime,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), wall: SystemTime::now() }
    }

    /// The time of day now.
    pub(crate) fn now(&self) -> SystemTime {
        self.wall + self.started.elapsed()
    }

    /// Milliseconds since 1970, as ids carry them.
    pub(crate) fn unix_millis(&self) -> u64 {
        let since = self.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
