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

    /// The time of day at a moment of tokio's clock, which is not before this was made.
    pub(crate) fn at(&self, moment: Instant) -> SystemTime {
        self.wall + moment.saturating_duration_since(self.started)
    }

    /// Milliseconds from 1970 to a moment, as ids carry them.
    pub(crate) fn unix_millis(&self, moment: Instant) -> u64 {
        let since = self.at(moment).duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
