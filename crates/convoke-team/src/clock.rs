//! The runtime's clock: tokio's, which tests can pause, tied once to the wall clock.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Wall-clock times that advance as tokio's clock does.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    /// The time of day then, from 1970.
    wall: Duration,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { started: Instant::now(), wall }
    }

    /// Milliseconds from 1970 to a moment of tokio's clock that is not before this was made, as ids carry them.
    pub(crate) fn unix_millis(&self, moment: Instant) -> u64 {
        let since = self.wall.saturating_add(moment.saturating_duration_since(self.started));
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
