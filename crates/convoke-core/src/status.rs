//! The one state machine of a task, for all crates.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a task stands.
///
/// ```text
/// Submitted ──► Working ──► InputRequired            paused: the same id goes on with an answer
///     │            ├──────► Completed                terminal
///     ├────────────┼──────► Failed, Blocked, Cancelled   terminal; the same id may be tried again
///     └────────────┴──────► TimedOut                 terminal; tried again only by an explicit word
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Admitted; waits for an agent.
    Submitted,
    /// An executor has it.
    Working,
    /// Paused: the agent asks for input.
    InputRequired,
    /// Ended well; its output is in the session.
    Completed,
    /// Ended badly.
    Failed,
    /// Could not be done as things stand: no agent, no capacity, or the agent's own word.
    Blocked,
    /// Stopped on request.
    Cancelled,
    /// Stopped by its deadline.
    TimedOut,
}

impl TaskStatus {
    /// Whether the task waits for an agent or is being worked on.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Submitted | Self::Working)
    }

    /// Whether the task waits for an answer.
    pub fn is_paused(self) -> bool {
        self == Self::InputRequired
    }

    /// Whether the attempt has ended for good.
    pub fn is_terminal(self) -> bool {
        !self.is_active() && !self.is_paused()
    }

    /// Whether the same id may be admitted again for a next attempt without a word about it.
    ///
    /// A task that is [`Completed`](Self::Completed) or [`TimedOut`](Self::TimedOut) is over; use another id, or say what
    /// is to become of it.
    pub fn allows_next_attempt(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked | Self::Cancelled | Self::InputRequired)
    }

    /// Whether an attempt may go from `self` to `next`.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::Submitted => !matches!(next, Self::Submitted | Self::InputRequired | Self::Completed),
            Self::Working => !next.is_active(),
            _ => false,
        }
    }

    /// The name in `snake_case`, as events and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
