//! The clocks that work is timed by.

use std::time::{Duration, Instant};

/// What tells how long work took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time that the thread which asks has had the processor: it stands still while the system runs somebody else.
    Thread,
    /// The time that has passed.
    Wall,
}

/// A moment by one of the clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    Thread(Duration),
    Wall(Instant),
}

impl Clock {
    pub(crate) fn now(self) -> Moment {
        match (self, thread_time()) {
            (Self::Thread, Some(time)) => Moment::Thread(time),
            _ => Moment::Wall(Instant::now()),
        }
    }
}

impl Moment {
    /// In seconds. A moment of the thread's clock is read on the same thread.
    pub(crate) fn elapsed(self) -> f64 {
        let elapsed = match self {
            Self::Thread(then) => thread_time().unwrap_or_default().saturating_sub(then),
            Self::Wall(then) => then.elapsed(),
        };
        elapsed.as_secs_f64()
    }
}

#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

/// Where the system has no such clock that can be read safely, the other one serves.
#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}
