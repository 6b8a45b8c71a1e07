//! What goes wrong: with a step, with a question to the machine, with a journal.

use std::fmt;

use convoke_core::StepId;
use serde::{Deserialize, Serialize};

use crate::{StepStatus, machine::gate::RequestId};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Why a step failed or is blocked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum StepErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl StepErrorCode {
            /// The name in `snake_case`, as JSON has it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// The executor's own word: it failed.
    ExecutionFailed = "execution_failed";
    /// The executor panicked.
    ExecutorPanicked = "executor_panicked";
    /// The executor's own word: it cannot be done as things stand.
    ExecutionBlocked = "execution_blocked";
    /// The executor stopped unasked.
    ExecutionCancelled = "execution_cancelled";
    /// It did not end before its deadline.
    StepTimeout = "step_timeout";
    /// The process ended five times in a row while it ran.
    InterruptedRepeatedly = "interrupted_repeatedly";
    /// The reflector rejected its output, and no attempt is left.
    Rejected = "rejected";
    /// A hook or a person denied it.
    Denied = "denied";
    /// No executor takes it.
    NoExecutor = "no_executor";
}

impl fmt::Display for StepErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a step failed or is blocked: a code for programs and a text for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StepError {
    /// The reason, for programs.
    pub code: StepErrorCode,
    /// The reason, for people.
    pub message: String,
}

impl StepError {
    /// An error of a code and a text.
    pub fn new(code: StepErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Why the machine did not do what an event asked. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The run has begun already.
    #[error("plan is running already; begin or resume it once")]
    Running,
    /// The plan has records, so it was begun before.
    #[error("plan was begun before; resume it")]
    BegunBefore,
    /// The run has ended.
    #[error("run has ended; resume the plan")]
    Ended,
    /// No such gate is open: it was answered, or what it stood for has changed.
    #[error("request `{request}` is stale; answer one that is pending now")]
    StaleApproval {
        /// The request that was answered.
        request: RequestId,
    },
    /// No such question is open.
    #[error("start {start} has no question open; answer one that is pending now")]
    StaleAnswer {
        /// The start that was answered.
        start: u64,
    },
    /// The step cannot be reset as it stands.
    #[error(
        "step `{step}` is {status} and is not reset; reset failed, blocked and detached steps that have ended"
    )]
    NotReset {
        /// The step.
        step: StepId,
        /// Where it stands.
        status: StepStatus,
    },
    /// No planner was asked.
    #[error("no planner was asked for a revision; answer only when asked")]
    NoRevision,
    /// The plan has no such place.
    #[error("plan has no step at place {place}; take places from the plan at hand")]
    UnknownStep {
        /// The place.
        place: u32,
    },
}

/// Why records, or a snapshot, are not those of a run of this plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A record is missing, or comes twice.
    #[error("record {found} follows record {before}; replay every record once, in order")]
    Sequence {
        /// The last one before it; 0 where it is the first.
        before: u64,
        /// Its number.
        found: u64,
    },
    /// A record names a step that the plan does not have.
    #[error(
        "record {sequence} names step `{step}`, which the plan does not have; replay the records of this plan"
    )]
    UnknownStep {
        /// Its number.
        sequence: u64,
        /// The step.
        step: StepId,
    },
    /// A record cannot follow those before it.
    #[error("record {sequence} cannot follow those before it: {reason}")]
    Impossible {
        /// Its number.
        sequence: u64,
        /// Why not.
        reason: String,
    },
    /// A snapshot says what no run can have left.
    #[error(
        "snapshot at record {sequence} is not that of a run: {reason}; use an earlier one, or all records"
    )]
    Unsound {
        /// The number of its last record.
        sequence: u64,
        /// What is wrong with it.
        reason: String,
    },
}
