//! What is known of each step.

use std::sync::Arc;

use crate::machine::error::StepError;

/// What a status alone does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::machine) enum Mark {
    #[default]
    None,
    /// Running: the work ended, a reviewer is to look at it.
    Worked,
    /// Running or failed: the work was given up, and may still run.
    Detached,
    /// Running: interrupted, and whether it took effect is unknown.
    OutcomeUnknown,
}

/// The durable part of a step, without its status and its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::machine) struct Row {
    /// The number of its last start within the plan; 0 before the first.
    pub(in crate::machine) start: u64,
    /// The error of its last attempt.
    pub(in crate::machine) error: Option<Arc<StepError>>,
    /// How many of its attempts count.
    pub(in crate::machine) attempts: u32,
    /// How often its key changed.
    pub(in crate::machine) generation: u32,
    /// How often in a row it was interrupted.
    pub(in crate::machine) interruptions: u32,
    pub(in crate::machine) mark: Mark,
    /// Whether a planner was asked about its end.
    pub(in crate::machine) offered: bool,
    /// Whether it must be approved, whatever the plan says.
    pub(in crate::machine) gated: bool,
    /// Whether the last start must not be repeated unasked.
    pub(in crate::machine) side_effect: bool,
}
