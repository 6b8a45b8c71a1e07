//! How long a commit waits for the records that are about to come.

use std::time::{Duration, Instant};

/// The longest wait, however slow the journal is.
const LONGEST: Duration = Duration::from_millis(10);

/// Keeps together the steps that run together.
///
/// While a commit is made durable, the ends of steps gather for the next. Were that begun with the first of them, those who
/// start with one commit would end in two, and two cohorts would take turns for ever, with twice the syncs. So a commit waits
/// until as many records have come as were in the last one and behind it, and at most a quarter of what that took. A step
/// that runs alone never waits.
///
/// Time is the machine's, not tokio's: what is measured is a disk, and a wait of microseconds is below what timers tell apart.
#[derive(Debug, Default)]
pub(super) struct Cohort {
    expected: usize,
    window: Duration,
    under_way: Option<(Instant, usize)>,
    waits_since: Option<Instant>,
}

impl Cohort {
    /// One that waits for so many records, long enough.
    #[cfg(test)]
    pub(super) fn expecting(records: usize) -> Self {
        Self { expected: records, window: Duration::MAX, ..Self::default() }
    }

    /// A commit of so many records is begun.
    pub(super) fn begun(&mut self, records: usize) {
        self.under_way = Some((Instant::now(), records));
    }

    /// It is durable; so many records wait behind it.
    pub(super) fn ended(&mut self, waiting: usize) {
        if let Some((begun, records)) = self.under_way.take() {
            self.expected = records + waiting;
            self.window = (begun.elapsed() / 4).min(LONGEST);
        }
    }

    /// Whether a commit of so many records waits for more.
    pub(super) fn waits(&mut self, records: usize) -> bool {
        let over = records >= self.expected || {
            let since = *self.waits_since.get_or_insert_with(Instant::now);
            since.elapsed() >= self.window
        };
        if over {
            self.waits_since = None;
        }
        !over
    }
}

#[cfg(test)]
mod tests;
