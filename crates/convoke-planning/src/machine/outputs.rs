//! The outputs of completed steps, shared with whoever runs others.

use std::sync::{Arc, OnceLock};

use convoke_core::TaskOutput;

use crate::StepIndex;

/// The outputs of completed steps. A completed step never runs again, so each place is written once; a clone copies a
/// pointer and sees what is written later, unless it [looks as of](Self::as_of) an earlier record.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    slots: Arc<[OnceLock<Published>]>,
    as_of: Option<u64>,
}

#[derive(Debug, PartialEq)]
struct Published {
    sequence: u64,
    output: Arc<TaskOutput>,
}

impl Outputs {
    pub(super) fn new(steps: usize) -> Self {
        Self { slots: (0..steps).map(|_| OnceLock::new()).collect(), as_of: None }
    }

    /// The output of a completed step; `None` where it is not completed, or was not by the record that this looks as of.
    pub fn get(&self, step: StepIndex) -> Option<&Arc<TaskOutput>> {
        self.get_as_of(step, self.as_of.unwrap_or(u64::MAX))
    }

    /// The output of a step that was completed by a record.
    pub(crate) fn get_as_of(&self, step: StepIndex, sequence: u64) -> Option<&Arc<TaskOutput>> {
        let published = self.slots.get(step.row())?.get()?;
        (published.sequence <= sequence).then_some(&published.output)
    }

    /// The same outputs without those published after a record.
    #[must_use]
    pub fn as_of(&self, sequence: u64) -> Self {
        Self { slots: Arc::clone(&self.slots), as_of: Some(sequence) }
    }

    pub(super) fn published(&self, step: StepIndex) -> Option<(u64, &Arc<TaskOutput>)> {
        let published = self.slots.get(step.row())?.get()?;
        Some((published.sequence, &published.output))
    }

    pub(super) fn publish(&self, step: StepIndex, sequence: u64, output: Arc<TaskOutput>) -> bool {
        let published = Published { sequence, output };
        self.slots.get(step.row()).is_some_and(|slot| slot.set(published).is_ok())
    }

    #[cfg(test)]
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.slots.iter().map(OnceLock::get).eq(other.slots.iter().map(OnceLock::get))
    }
}
