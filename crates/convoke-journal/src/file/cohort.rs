//! How long a frame waits for the commits that are about to come.

use std::time::Duration;

/// The longest wait, however slow a sync is.
const LONGEST: Duration = Duration::from_millis(10);

/// Keeps together those who commit together.
///
/// While a frame is made durable, commits gather for the next one. Were that written at once, the ones who have just been
/// answered would always come too late for it, and two cohorts would take turns for ever. So the next frame waits until as
/// many commits have come as were in the last frame and behind it, and at most a quarter of the last sync. One who commits
/// alone never waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cohort {
    expected: usize,
    window: Duration,
}

impl Cohort {
    /// A frame of so many commits is durable; so many wait behind it.
    pub(super) fn ended(&mut self, commits: usize, waiting: usize, sync: Duration) {
        self.expected = commits + waiting;
        self.window = (sync / 4).min(LONGEST);
    }

    /// How long a frame waits for more where so many commits have come.
    pub(super) fn window(self, commits: usize) -> Option<Duration> {
        (commits < self.expected && !self.window.is_zero()).then_some(self.window)
    }
}

#[cfg(test)]
mod tests;
