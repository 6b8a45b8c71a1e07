//! Error codes: the machine-readable reason in a report.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::TaskStatus;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal => $status:ident;)*) => {
        /// Why a task did not complete.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in `snake_case`, as events and reports write it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status of a report that carries this code.
            ///
            /// [`SessionFull`](Self::SessionFull) is [`Blocked`](TaskStatus::Blocked) where admission finds no room,
            /// which is what this says, and [`Failed`](TaskStatus::Failed) where the commit finds none. A task whose session
            /// another runtime owns is [`Blocked`](TaskStatus::Blocked) with [`StoreFailed`](Self::StoreFailed).
            pub fn status(self) -> TaskStatus {
                match self { $(Self::$name => TaskStatus::$status,)* }
            }
        }
    };
}

codes! {
    /// The request is malformed or empty, or its id is active, completed or closed.
    InvalidRequest = "invalid_request" => Blocked;
    /// The preferred agent is not registered.
    AgentNotFound = "agent_not_found" => Blocked;
    /// No agent, or not the preferred one, has all the required skills.
    CapabilityNotFound = "capability_not_found" => Blocked;
    /// The agents that have the skills are draining or offline.
    AgentUnavailable = "agent_unavailable" => Blocked;
    /// The agents that could serve are full, and the request does not wait.
    CapacityExhausted = "capacity_exhausted" => Blocked;
    /// The wait could never end.
    WaitCycle = "wait_cycle" => Blocked;
    /// Nested deeper than the runtime allows.
    DepthExceeded = "depth_exceeded" => Blocked;
    /// The executor's own word.
    AgentBlocked = "agent_blocked" => Blocked;
    /// The executor returned an error.
    ExecutionFailed = "execution_failed" => Failed;
    /// The executor panicked.
    ExecutorPanicked = "executor_panicked" => Failed;
    /// The executor returned what it must not.
    ContractViolation = "contract_violation" => Failed;
    /// A store refused or failed.
    StoreFailed = "store_failed" => Failed;
    /// A budget has nothing left.
    BudgetExhausted = "budget_exhausted" => Failed;
    /// The session has no room.
    SessionFull = "session_full" => Blocked;
    /// Found active on load, from a process that is gone; whether it took effect is unknown.
    Interrupted = "interrupted" => Failed;
    /// Stopped on request.
    Cancelled = "cancelled" => Cancelled;
    /// Stopped by its deadline.
    TimedOut = "timed_out" => TimedOut;
    /// Work of an earlier attempt of the same id is still running.
    StillDetached = "still_detached" => Blocked;
    /// The runtime admits nothing more.
    ShuttingDown = "shutting_down" => Blocked;
    /// The participants did not agree.
    ConsensusNotReached = "consensus_not_reached" => Failed;
}

impl ErrorCode {
    /// Whether the same request may succeed later without a change.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::AgentUnavailable
                | Self::CapacityExhausted
                | Self::ExecutionFailed
                | Self::ExecutorPanicked
                | Self::StoreFailed
                | Self::Interrupted
                | Self::StillDetached
                | Self::ConsensusNotReached
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
