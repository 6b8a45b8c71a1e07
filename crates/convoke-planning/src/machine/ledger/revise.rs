//! How the ledger follows a revision of the plan.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    Plan, PlanStep, StepIndex,
    StepStatus::{Blocked, Completed, Failed, Running, Skipped},
    machine::{
        ledger::{Ledger, Row},
        outputs::Outputs,
    },
};

impl Ledger {
    /// Why a plan cannot follow the one at hand; `None` where it can.
    pub(in crate::machine) fn conflict(&self, plan: &Plan) -> Option<String> {
        if plan.id() != self.plan.id() {
            return Some(format!("it is plan `{}`", plan.id()));
        }
        let next = self.plan.revision().saturating_add(1);
        if plan.revision() != next {
            return Some(format!("it is revision {} and {next} is next", plan.revision()));
        }
        let mut steps = self.plan.indices().zip(self.plan.steps());
        steps.find_map(|(index, step)| {
            let status = self.status(index);
            // What an end has come to, or will, cannot change behind it.
            let is_fixed = matches!(status, Completed | Running) || self.is_detached(index);
            match plan.index_of(&step.id).and_then(|kept| plan.step(kept)) {
                None if is_fixed => Some(format!("step `{}` is {status} and is gone", step.id)),
                Some(kept) if is_fixed && kept != step => {
                    Some(format!("step `{}` is {status} and has changed", step.id))
                }
                Some(kept) if step.requires_approval && !kept.requires_approval => {
                    Some(format!("step `{}` has lost its gate", step.id))
                }
                _ => None,
            }
        })
    }

    /// Takes the next revision of the plan, which is in no [`conflict`](Self::conflict).
    pub(super) fn revise(&mut self, plan: &Plan) -> Result<(), String> {
        let mut next = Self {
            sequence: self.sequence,
            elapsed_millis: self.elapsed_millis,
            begun: self.begun,
            denied: self.denied,
            replans: self.replans,
            revising: None,
            ..Self::new(plan.clone())
        };
        let mut skipped = Vec::new();
        for (index, step) in plan.indices().zip(plan.steps()) {
            let Some(before) = self.plan.index_of(&step.id) else {
                next.change(index, |row| row.gated = self.denied);
                continue;
            };
            let same = self.plan.step(before) == Some(step);
            next.keep(self, (before, index), same)?;
            if same && self.status(before) == Skipped {
                skipped.push(index);
            }
        }
        next.starts = self.starts.relocated(|step| moved(&self.plan, plan, step));
        next.skip_again(skipped)?;
        *self = next;
        Ok(())
    }

    /// Takes over what is known of a step.
    fn keep(
        &mut self,
        old: &Self,
        (before, index): (StepIndex, StepIndex),
        same: bool,
    ) -> Result<(), String> {
        let row = old.row(before);
        if !same {
            let Row { start, generation, gated, .. } = *row;
            self.change(index, |row| {
                *row = Row { start, generation: generation.saturating_add(1), gated, ..Row::default() }
            });
            return Ok(());
        }
        // Who is skipped depends on the others.
        if let status @ (Running | Completed | Failed | Blocked) = old.status(before) {
            self.reaches(index, status)?;
        }
        self.change(index, |new| new.clone_from(row));
        if let Some(notes) = old.notes.get(&before) {
            self.notes.insert(index, notes.clone());
        }
        old.outputs.copy(before, &self.outputs, index);
        Ok(())
    }

    /// Those whose causes have stayed stay skipped, level by level.
    fn skip_again(&mut self, candidates: Vec<StepIndex>) -> Result<(), String> {
        let mut was_skipped: BTreeSet<StepIndex> = candidates.iter().copied().collect();
        let mut barred = candidates;
        while let Some(step) = barred.pop() {
            if self.is_barred(step) && was_skipped.remove(&step) {
                self.becomes(step, Skipped)?;
                barred.extend(self.plan.dependents(step).map(|edge| edge.step));
            }
        }
        Ok(())
    }
}

/// Where a step of one revision is in the next.
pub(in crate::machine) fn moved(before: &Plan, after: &Plan, step: StepIndex) -> Option<StepIndex> {
    before.step(step).and_then(|step: &PlanStep| after.index_of(&step.id))
}

impl Outputs {
    fn copy(&self, from: StepIndex, other: &Self, to: StepIndex) {
        if let Some((sequence, output)) = self.published(from) {
            other.publish(to, sequence, Arc::clone(output));
        }
    }
}
