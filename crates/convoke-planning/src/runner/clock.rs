//! The clock of one run.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, SystemTime},
};

use convoke_observability::drop_isolated;
use tokio::time::Instant;

use crate::machine::Moment;

/// Tells the wall clock's milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone)]
pub(crate) struct WallClock(pub(crate) Arc<dyn Fn() -> u64 + Send + Sync>);

impl Default for WallClock {
    fn default() -> Self {
        Self(Arc::new(system_millis))
    }
}

fn system_millis() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

/// Tokio's clock since the run was opened, and the wall clock.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    opened: Instant,
    wall: WallClock,
}

impl Clock {
    pub(crate) fn new(wall: WallClock) -> Self {
        Self { opened: Instant::now(), wall }
    }

    /// What [`Moment::running`] counts from.
    pub(crate) fn opened(&self) -> Instant {
        self.opened
    }

    pub(crate) fn running(&self) -> Duration {
        self.opened.elapsed()
    }

    pub(crate) fn unix_millis(&self) -> u64 {
        let told = catch_unwind(AssertUnwindSafe(|| (self.wall.0)()));
        told.unwrap_or_else(|payload| {
            drop_isolated(payload);
            system_millis()
        })
    }

    /// What time it is; by the wall clock where somebody asks for that, and else 0.
    pub(crate) fn moment(&self, asks_for_wall_time: bool) -> Moment {
        let unix_millis = if asks_for_wall_time { self.unix_millis() } else { 0 };
        Moment { running: self.running(), unix_millis }
    }

    /// The moment on tokio's clock; `None` where no clock gets so far.
    pub(crate) fn at(&self, running: Duration) -> Option<Instant> {
        self.opened.checked_add(running)
    }

    pub(crate) fn since_opened(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.opened)
    }
}
