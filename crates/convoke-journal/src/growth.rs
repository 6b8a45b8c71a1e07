//! When a compaction pays.

/// Below so many bytes behind the newest snapshot no compaction is due, unless set otherwise: 256 KiB.
pub const COMPACT_AT_LEAST: u64 = 256 << 10;

/// The size of what follows the newest snapshot, beside that of the snapshot.
///
/// A compaction pays once there is twice as much behind the snapshot as in it: what it costs is then no more than a
/// constant for each byte that was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) snapshot_bytes: u64,
    pub(crate) appended_bytes: u64,
    pub(crate) at_least: u64,
}

impl Growth {
    pub(crate) fn new(at_least: u64) -> Self {
        Self { snapshot_bytes: 0, appended_bytes: 0, at_least }
    }

    pub(crate) fn append(&mut self, bytes: usize) {
        self.appended_bytes = self.appended_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    pub(crate) fn compact(&mut self, snapshot_bytes: usize) {
        self.snapshot_bytes = u64::try_from(snapshot_bytes).unwrap_or(u64::MAX);
        self.appended_bytes = 0;
    }

    pub(crate) fn is_compaction_due(self) -> bool {
        self.appended_bytes >= self.snapshot_bytes.saturating_mul(2).max(self.at_least)
    }
}
