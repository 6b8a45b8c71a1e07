//! What is known of each step.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::{error::StepError, stop::StopReason};

/// What a status alone does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::machine) enum Mark {
    #[default]
    None,
    /// Running: the work ended, a reflector is to look at it.
    Worked,
    /// Running or failed: the work was given up, and may still run.
    Detached,
    /// Running: interrupted, and whether it took effect is unknown.
    OutcomeUnknown,
}

/// A run that ended while a step ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::machine) struct Left {
    /// Why it ended.
    pub(in crate::machine) stop: StopReason,
    /// Whether the executor ends soon once it is asked to.
    pub(in crate::machine) cooperative: bool,
}

/// The durable part of a step, without its status and its output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::machine) struct Row {
    /// The number of its last start within the plan; 0 before the first.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) start: u64,
    /// The error of its last attempt.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) error: Option<Arc<StepError>>,
    /// How many of its attempts count.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) attempts: u32,
    /// How often its key changed.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) generation: u32,
    /// How often in a row it was interrupted.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) interruptions: u32,
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) mark: Mark,
    /// Whether a planner was asked about its end.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) offered: bool,
    /// Whether it must be approved, whatever the plan says.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) gated: bool,
    /// Whether the last start must not be repeated unasked.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) side_effect: bool,
    /// The run that left it behind; of a step that is running and detached.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) left: Option<Left>,
    /// How long the plan had run when the attempt started that has not ended yet, in milliseconds.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) started_millis: u64,
    /// How long the work of the last attempt took that has ended, if none has started since.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) took_millis: Option<u64>,
}

impl Row {
    /// The work of the attempt ended after so many milliseconds of the plan, unless it had ended before.
    pub(in crate::machine) fn end(&mut self, elapsed_millis: u64) {
        let started = std::mem::take(&mut self.started_millis);
        self.took_millis.get_or_insert(elapsed_millis.saturating_sub(started));
    }
}

/// Whether a value is what it was in the beginning, which is not worth a word.
pub(in crate::machine) fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
