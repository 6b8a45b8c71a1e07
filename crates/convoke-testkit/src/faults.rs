//! When and how something fails on purpose.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts calls, and says which of them fail. Cloning shares the count.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    calls: Arc<AtomicU64>,
    after: u64,
    panics: bool,
}

impl Faults {
    pub(crate) fn after(calls: u64) -> Self {
        Self { calls: Arc::default(), after: calls, panics: false }
    }

    pub(crate) fn panicking(self) -> Self {
        Self { panics: true, ..self }
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    /// Counts a call; `true` if it is to fail with an error.
    ///
    /// # Panics
    ///
    /// Where the call is to fail by a panic.
    pub(crate) fn strikes(&self) -> bool {
        let strikes = self.calls.fetch_add(1, Ordering::AcqRel) >= self.after;
        assert!(!(strikes && self.panics), "failing on purpose");
        strikes
    }
}
