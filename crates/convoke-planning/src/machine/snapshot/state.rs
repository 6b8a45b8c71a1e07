//! What a snapshot says of a step.

use std::sync::Arc;

use convoke_core::{StepId, TaskOutput};
use serde::{Deserialize, Serialize};

use crate::{
    StepStatus,
    machine::ledger::{Mark, Notes, Row, is_unset},
};

/// So often may have happened what is counted on: half of what is counted at all, so that no count comes to its end.
const MOST: u32 = u32::MAX / 2;

/// A step that is not as it was in the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::machine) struct StepState {
    pub(in crate::machine) step: StepId,
    pub(in crate::machine) status: StepStatus,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(in crate::machine) row: Row,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(in crate::machine) output: Option<Published>,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(in crate::machine) notes: Notes,
}

/// The output of a completed step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::machine) struct Published {
    /// The record that published it.
    pub(in crate::machine) sequence: u64,
    pub(in crate::machine) value: Arc<TaskOutput>,
}

impl StepState {
    /// Whether the step is as it was in the beginning.
    pub(in crate::machine) fn is_fresh(&self) -> bool {
        let Self { step: _, status, row, output, notes } = self;
        is_unset(status) && is_unset(row) && output.is_none() && is_unset(notes)
    }

    /// What of it no run can have left; `None` where it is sound by itself.
    pub(in crate::machine) fn flaw(&self) -> Option<&'static str> {
        use StepStatus::{Blocked, Completed, Failed, Pending, Running};

        let Self { status, row, notes, .. } = self;
        let is = |statuses: &[StepStatus]| statuses.contains(status);
        let flaws = [
            (
                is(&[Completed]) != self.output.is_some(),
                "is completed without an output, or has one and is not",
            ),
            (is(&[Failed, Blocked]) && row.error.is_none(), "failed or is blocked without an error"),
            (is(&[Completed]) && row.error.is_some(), "is completed and has an error"),
            (is(&[Running]) && (row.start == 0 || row.attempts == 0), "is running and was not started"),
            (
                (row.mark == Mark::Worked) != notes.worked.is_some(),
                "has ended its work without an output to review, or has one and has not",
            ),
            (
                matches!(row.mark, Mark::Worked | Mark::OutcomeUnknown) && !is(&[Running]),
                "has a mark that only a running step has",
            ),
            (
                row.mark == Mark::Detached && (row.start == 0 || !is(&[Running, Failed])),
                "is detached and neither running nor failed",
            ),
            (row.offered && !is(&[Failed, Blocked]), "was offered to a planner and has not failed"),
            (
                notes.question.is_some() && (row.start == 0 || !is(&[Pending, Running])),
                "has a question and was not started, or has ended",
            ),
            (
                notes.question.is_some() && notes.answer.is_none() && !is(&[Pending]),
                "runs and waits for an answer",
            ),
            (notes.answer.is_some() && notes.question.is_none(), "has an answer and no question"),
            (notes.finding.is_some() && !is(&[Completed]), "has a finding on an output that it has not"),
            (
                [row.attempts, row.generation, row.interruptions].iter().any(|count| *count > MOST),
                "has a count that is too large",
            ),
        ];
        flaws.into_iter().find_map(|(is_so, flaw)| is_so.then_some(flaw))
    }
}
