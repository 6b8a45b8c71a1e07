//! What the records say: the durable part of a run, and the one place where a record changes it.

mod apply;
mod notes;
mod restore;
mod revise;
mod row;
mod starts;

pub(super) use notes::Notes;
pub(super) use revise::moved;
pub(super) use row::{Left, Mark, Row, is_unset};

use std::collections::BTreeMap;

use crate::{
    Plan, Readiness, StepIndex, StepStatus,
    machine::{error::ReplayError, outputs::Outputs, record::Entry},
};

use starts::Starts;

/// The durable part of a run. A running machine changes it by records, and where nobody
/// hears of those by what would be in them, so that replaying them gives the same.
#[derive(Debug)]
pub(super) struct Ledger {
    plan: Plan,
    readiness: Readiness,
    rows: Vec<Row>,
    /// The row of a place that the plan does not have.
    nowhere: Row,
    outputs: Outputs,
    /// What few steps have.
    notes: BTreeMap<StepIndex, Notes>,
    by_status: [usize; StepStatus::ALL.len()],
    sequence: u64,
    elapsed_millis: u64,
    starts: Starts,
    begun: bool,
    /// Whether a hook or a person ever denied a step.
    denied: bool,
    /// How often a planner was asked.
    replans: u64,
    /// The step about which a planner is being asked.
    revising: Option<StepIndex>,
}

impl Ledger {
    pub(super) fn new(plan: Plan) -> Self {
        let steps = plan.steps().len();
        let mut by_status = [0; StepStatus::ALL.len()];
        if let Some(pending) = by_status.get_mut(StepStatus::Pending as usize) {
            *pending = steps;
        }
        Self {
            readiness: Readiness::new(&plan),
            rows: vec![Row::default(); steps],
            nowhere: Row::default(),
            outputs: Outputs::new(steps),
            notes: BTreeMap::new(),
            by_status,
            sequence: 0,
            elapsed_millis: 0,
            starts: Starts::default(),
            begun: false,
            denied: false,
            replans: 0,
            revising: None,
            plan,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn status(&self, step: StepIndex) -> StepStatus {
        self.readiness.status(step).unwrap_or_default()
    }

    pub(super) fn is_ready(&self, step: StepIndex) -> bool {
        self.readiness.is_ready(step)
    }

    pub(super) fn is_barred(&self, step: StepIndex) -> bool {
        self.readiness.is_barred(step)
    }

    pub(super) fn row(&self, step: StepIndex) -> &Row {
        self.rows.get(step.row()).unwrap_or(&self.nowhere)
    }

    pub(super) fn notes(&self, step: StepIndex) -> Option<&Notes> {
        self.notes.get(&step)
    }

    /// The steps that have notes, in plan order.
    pub(super) fn noted(&self) -> impl Iterator<Item = (StepIndex, &Notes)> {
        self.notes.iter().map(|(step, notes)| (*step, notes))
    }

    pub(super) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    pub(super) fn count(&self, status: StepStatus) -> usize {
        self.by_status.get(status as usize).copied().unwrap_or_default()
    }

    /// The number of the last record; 0 before the first.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn elapsed_millis(&self) -> u64 {
        self.elapsed_millis
    }

    /// How often steps started, every start counted.
    pub(super) fn starts(&self) -> u64 {
        self.starts.count()
    }

    /// The step whose last start this is.
    pub(super) fn step_of(&self, start: u64) -> Option<StepIndex> {
        self.starts.step_of(start).filter(|step| self.row(*step).start == start)
    }

    pub(super) fn replans(&self) -> u64 {
        self.replans
    }

    pub(super) fn revising(&self) -> Option<StepIndex> {
        self.revising
    }

    pub(super) fn is_detached(&self, step: StepIndex) -> bool {
        self.row(step).mark == Mark::Detached
    }

    pub(super) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Takes the next record.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let step = self.place_of(entry)?;
        self.append_at(entry, step)
    }

    /// Takes the next record, whose step is known to be there.
    pub(super) fn append_at(&mut self, entry: &Entry, step: Option<StepIndex>) -> Result<(), ReplayError> {
        if entry.sequence != self.sequence.saturating_add(1) {
            return Err(ReplayError::Sequence { before: self.sequence, found: entry.sequence });
        }
        self.apply(entry, step)?;
        self.advance(entry.elapsed_millis);
        Ok(())
    }

    /// One record more is taken.
    fn advance(&mut self, elapsed_millis: u64) {
        self.sequence = self.sequence.saturating_add(1);
        self.elapsed_millis = self.elapsed_millis.max(elapsed_millis);
    }

    /// Whether both say the same.
    #[cfg(test)]
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.plan == other.plan
            && (self.replans, self.revising) == (other.replans, other.revising)
            && self.rows == other.rows
            && self.notes == other.notes
            && self.outputs.same_as(&other.outputs)
            && self.plan.indices().all(|step| {
                self.status(step) == other.status(step)
                    && self.is_ready(step) == other.is_ready(step)
                    && self.is_barred(step) == other.is_barred(step)
                    && self.step_of(self.row(step).start) == other.step_of(other.row(step).start)
            })
            && (self.by_status, self.sequence, self.elapsed_millis, self.starts(), self.begun, self.denied)
                == (
                    other.by_status,
                    other.sequence,
                    other.elapsed_millis,
                    other.starts(),
                    other.begun,
                    other.denied,
                )
    }
}
