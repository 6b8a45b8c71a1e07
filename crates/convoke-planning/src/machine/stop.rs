//! Why a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Why a run ended: the first of these, in this order, that holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum StopReason {
            $($(#[$doc])* $name,)*
        }

        impl StopReason {
            /// The name in `snake_case`, as JSON has it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

reasons! {
    /// Somebody else has the plan now.
    ClaimLost = "claim_lost";
    /// What was to be durable could not be made so.
    StoreFailed = "store_failed";
    /// Somebody cancelled it.
    Cancelled = "cancelled";
    /// The plan ran longer than its `run_timeout`.
    RunTimeout = "run_timeout";
    /// The score of a step orders nothing; [`Machine::score_error`](crate::machine::Machine::score_error) names the step.
    InvalidScore = "invalid_score";
    /// A step is ready, and `max_step_runs` lets none start any more.
    StepRunLimit = "step_run_limit";
    /// A step is ready, and `steps_per_run` lets none start in this run.
    StepBudget = "step_budget";
    /// A step is ready, and lacks only what a detached one still holds.
    Detached = "detached";
    /// A step failed.
    Failed = "failed";
    /// A step is blocked.
    Blocked = "blocked";
    /// A gate or a question is open.
    ApprovalRequired = "approval_required";
    /// Every step has ended, none of them failed or blocked.
    Completed = "completed";
    /// Some step has not ended, and none may start.
    NoReadyStep = "no_ready_step";
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
