//! How a plan begins where another one stands.

use std::collections::BTreeMap;

use convoke_core::{Metadata, PlanId, StepId};

use crate::{
    StepIndex, StepStatus,
    machine::{
        ledger::{Mark, Notes, Row},
        snapshot::{Published, Snapshot, StepState},
    },
};

impl Snapshot {
    /// The same standing as the beginning of a plan of its own, and the steps that begin anew in it, in plan order.
    ///
    /// What has ended stays: completed steps with their outputs, and failed, blocked and skipped ones. What was under way
    /// does not, since the work belongs to the other plan: steps that were running, whatever is known of how that ended,
    /// steps whose work was given up and may still run, and steps with a question, answered or not, whose token only
    /// that plan's executor knows. They are listed, pending under a new generation, and with them is pending what was
    /// skipped because of them.
    ///
    /// No approval and no open gate is taken over, not even as a note: who is to approve is asked anew. A step that must be
    /// approved stays so. A planner that was being asked is not: what it was asked about is offered again.
    ///
    /// The plan is at revision 0, and all that is counted against a limit of the plan starts at 0: its records, its time,
    /// its starts and its revisions. A start is thus a number within the new plan, and an end of work that belongs to the
    /// other names none of it. Attempts stay counted. Where the other plan was begun, this one is to be resumed.
    pub fn forked(mut self, plan: PlanId) -> (Self, Vec<StepId>) {
        self.plan = self.plan.renamed(plan);
        let places: BTreeMap<StepIndex, usize> = self
            .steps
            .iter()
            .enumerate()
            .filter_map(|(place, state)| Some((self.plan.index_of(&state.step)?, place)))
            .collect();
        let mut anew = Vec::new();
        let mut behind = Vec::new();
        for (step, place) in &places {
            let Some(state) = self.steps.get_mut(*place) else { continue };
            let has_ended = state.status.is_terminal();
            if state.begin_anew() {
                anew.push(state.step.clone());
                behind.extend(has_ended.then_some(*step));
            }
            let is_offered = state.row.offered && self.revising.as_ref() != Some(&state.step);
            state.row.offered = is_offered;
        }
        while let Some(source) = behind.pop() {
            for edge in self.plan.dependents(source) {
                let place = places.get(&edge.step);
                let Some(state) = place.and_then(|place| self.steps.get_mut(*place)) else { continue };
                if state.status == StepStatus::Skipped {
                    state.status = StepStatus::Pending;
                    behind.push(edge.step);
                }
            }
        }
        self.steps.retain(|state| !state.is_fresh());
        let Self { plan, begun, denied, steps, .. } = self;
        let fork = Self {
            plan,
            sequence: 0,
            elapsed_millis: 0,
            starts: 0,
            begun,
            denied,
            replans: 0,
            revising: None,
            steps,
        };
        (fork, anew)
    }
}

impl StepState {
    /// Leaves what belongs to a plan alone; whether the step is to begin anew because of that.
    fn begin_anew(&mut self) -> bool {
        let was_given_up = self.row.mark == Mark::Detached;
        let is_running = self.status == StepStatus::Running;
        let begins_anew = is_running || was_given_up || self.notes.question.is_some();
        self.row = Row {
            start: 0,
            interruptions: 0,
            mark: Mark::None,
            side_effect: false,
            left: None,
            ..self.row.clone()
        };
        self.notes = Notes {
            worked: None,
            gate: None,
            hook_asked: false,
            approved: None,
            approval: Metadata::new(),
            question: None,
            answer: None,
            ..std::mem::take(&mut self.notes)
        };
        if let Some(Published { sequence, .. }) = &mut self.output {
            *sequence = 0;
        }
        if begins_anew {
            self.row.generation = self.row.generation.saturating_add(1);
            if is_running {
                self.row.attempts = self.row.attempts.saturating_sub(1);
            } else if was_given_up {
                // Its attempts came to an end, which is not to stand.
                let Row { generation, gated, .. } = self.row;
                self.row = Row { generation, gated, ..Row::default() };
            }
            self.status = StepStatus::Pending;
        }
        begins_anew
    }
}
