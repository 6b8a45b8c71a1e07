//! Where a step stands.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a step of a plan stands.
///
/// ```text
/// Pending ──► Running ──► Completed             terminal, for good
///    ▲  │        ├──────► Failed                terminal
///    │  ├────────┼──────► Blocked               terminal
///    │  └────────┼──────► Skipped               terminal; from Pending alone
///    └───────────┴─────── Failed, Blocked, Skipped, Running
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Waits for its edges, its gate or a place.
    #[default]
    Pending,
    /// An executor has it.
    Running,
    /// Ended well; its output is there.
    Completed,
    /// Ended badly.
    Failed,
    /// Never ran, because of what a step before it came to.
    Skipped,
    /// Could not be done as things stand: denied, or without an executor.
    Blocked,
}

impl StepStatus {
    /// Every status.
    pub const ALL: &[Self] =
        &[Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Skipped, Self::Blocked];

    /// Whether the step has ended.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// Whether a step may go from `self` to `next`.
    ///
    /// Back to [`Pending`](Self::Pending) goes a step that is tried again: after an interruption, at a retry, a reset or
    /// a revision. A completed step never runs again.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(next, Self::Running | Self::Skipped | Self::Blocked),
            Self::Running => !matches!(next, Self::Running | Self::Skipped),
            Self::Failed | Self::Skipped | Self::Blocked => next == Self::Pending,
            Self::Completed => false,
        }
    }

    /// The name in `snake_case`, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
