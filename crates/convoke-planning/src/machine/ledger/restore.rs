//! How the ledger goes into a snapshot, and comes back.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    StepIndex,
    StepStatus::{self, Blocked, Completed, Failed, Running, Skipped},
    Wait,
    machine::{
        error::ReplayError,
        ledger::{Ledger, Notes, Starts},
        snapshot::{Published, Snapshot, StepState},
    },
};

/// So far is counted: half of what is counted at all, so that no count comes to its end.
const MOST: u64 = u64::MAX / 2;

impl Ledger {
    pub(in crate::machine) fn snapshot(&self) -> Snapshot {
        let steps = self.plan.indices().zip(self.plan.steps()).map(|(index, step)| StepState {
            step: step.id.clone(),
            status: self.status(index),
            row: self.row(index).clone(),
            output: self
                .outputs
                .published(index)
                .map(|(sequence, output)| Published { sequence, value: Arc::clone(output) }),
            notes: self.notes.get(&index).cloned().unwrap_or_default(),
        });
        let revising = self.revising.and_then(|step| self.plan.step(step));
        Snapshot {
            plan: self.plan.clone(),
            sequence: self.sequence,
            elapsed_millis: self.elapsed_millis,
            starts: self.starts(),
            begun: self.begun,
            denied: self.denied,
            replans: self.replans,
            revising: revising.map(|step| step.id.clone()),
            steps: steps.filter(|state| !state.is_fresh()).collect(),
        }
    }

    /// What a snapshot says, where some run can have left it.
    pub(in crate::machine) fn restored(snapshot: &Snapshot) -> Result<Self, ReplayError> {
        let restored = Self::opened(snapshot).and_then(|mut ledger| {
            ledger.take_steps(snapshot)?;
            ledger.check_edges(snapshot)?;
            ledger.take_revision(snapshot)?;
            Ok(ledger)
        });
        restored.map_err(|reason| ReplayError::Unsound { sequence: snapshot.sequence, reason })
    }

    fn opened(snapshot: &Snapshot) -> Result<Self, String> {
        let Snapshot { sequence, elapsed_millis, starts, begun, denied, replans, .. } = *snapshot;
        let untouched = [sequence, elapsed_millis, starts, replans] == [0; 4] && snapshot.steps.is_empty();
        if !begun && (denied || !untouched) {
            return Err("plan was not begun, and has a past".into());
        }
        if sequence > MOST {
            return Err(format!("no plan has {sequence} records"));
        }
        // Each has a record.
        if starts > sequence || replans > sequence {
            return Err(format!("{sequence} records cannot hold {starts} starts and {replans} revisions"));
        }
        let starts = Starts::counted(starts);
        Ok(Self {
            sequence,
            elapsed_millis,
            starts,
            begun,
            denied,
            replans,
            ..Self::new(snapshot.plan.clone())
        })
    }

    fn take_steps(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for state in &snapshot.steps {
            let id = &state.step;
            let step = self.place(state)?;
            if !seen.insert(step) {
                return Err(format!("step `{id}` comes twice"));
            }
            if let Some(flaw) = state.flaw() {
                return Err(format!("step `{id}` {flaw}"));
            }
            if state.row.start > 0 && !self.starts.keep(state.row.start, step) {
                let start = state.row.start;
                return Err(format!("start {start} of step `{id}` is that of another, or was not yet"));
            }
            self.reaches(step, state.status)?;
            if let Some(Published { sequence, value }) = &state.output {
                if *sequence > self.sequence {
                    return Err(format!("the output of step `{id}` comes from record {sequence}"));
                }
                self.outputs.publish(step, *sequence, Arc::clone(value));
            }
            self.change(step, |row| row.clone_from(&state.row));
            if state.notes != Notes::default() {
                self.notes.insert(step, state.notes.clone());
            }
        }
        Ok(())
    }

    /// Whether each step is where those that it waits for let it be. An end that is waited for may have been taken back
    /// since; a completion cannot.
    fn check_edges(&self, snapshot: &Snapshot) -> Result<(), String> {
        for state in &snapshot.steps {
            let step = self.place(state)?;
            let mut sources = self.plan.dependencies(step).filter(|edge| edge.wait == Wait::Completed);
            let is_sound = match state.status {
                StepStatus::Pending => true,
                Running | Completed | Failed | Blocked => {
                    sources.all(|edge| self.status(edge.step) == Completed)
                }
                Skipped => sources.any(|edge| {
                    let status = self.status(edge.step);
                    status.is_terminal() && status != Completed
                }),
            };
            if !is_sound {
                return Err(format!(
                    "step `{}` is {}, which the steps before it do not allow",
                    state.step, state.status
                ));
            }
        }
        Ok(())
    }

    fn take_revision(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let Some(id) = &snapshot.revising else { return Ok(()) };
        let asked = self.plan.index_of(id).filter(|step| self.row(*step).offered);
        self.revising = Some(asked.ok_or_else(|| format!("no planner can be asked about step `{id}`"))?);
        Ok(())
    }

    fn place(&self, state: &StepState) -> Result<StepIndex, String> {
        let step = self.plan.index_of(&state.step);
        step.ok_or_else(|| format!("the plan has no step `{}`", state.step))
    }
}
