//! How much of the past a log keeps.

/// How much of what lies before the newest snapshot stays readable, for forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retain {
    /// The newest snapshot, so many before it, and all records since the oldest of these.
    Snapshots(usize),
    /// Everything since the start of the log.
    Everything,
}

/// Eight snapshots before the newest.
impl Default for Retain {
    fn default() -> Self {
        Self::Snapshots(8)
    }
}
