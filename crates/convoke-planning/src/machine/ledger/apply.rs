//! How a record changes the ledger.

use std::sync::Arc;

use convoke_core::{Metadata, TaskOutput};

use crate::{
    StepIndex,
    StepStatus::{self, Blocked, Completed, Failed, Pending, Running, Skipped},
    machine::{
        error::{ReplayError, StepErrorCode},
        event::Finding,
        ledger::{Ledger, Left, Mark, Notes, Row},
        record::{Entry, Record},
    },
};

impl Ledger {
    /// Where the step of the record is in the plan; `None` where it is about the plan.
    pub(in crate::machine) fn place_of(&self, entry: &Entry) -> Result<Option<StepIndex>, ReplayError> {
        let Some(id) = entry.record.step() else { return Ok(None) };
        let unknown = || ReplayError::UnknownStep { sequence: entry.sequence, step: id.clone() };
        self.plan.index_of(id).ok_or_else(unknown).map(Some)
    }

    /// A record that cannot be leaves the ledger in no use, which replaying reports.
    pub(super) fn apply(&mut self, entry: &Entry, step: Option<StepIndex>) -> Result<(), ReplayError> {
        let Some(step) = step else {
            return self.apply_to_plan(entry);
        };
        self.apply_to_step(entry, step)
            .map_err(|reason| ReplayError::Impossible { sequence: entry.sequence, reason })
    }

    fn apply_to_plan(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let impossible = |reason| ReplayError::Impossible { sequence: entry.sequence, reason };
        if let Record::Revised { plan } = &entry.record {
            return match self.conflict(plan) {
                Some(conflict) => Err(impossible(conflict)),
                None => self.revise(plan).map_err(impossible),
            };
        }
        let begins = matches!(entry.record, Record::Begun);
        if begins == self.begun {
            let reason = if begins { "plan was begun before" } else { "plan was not begun" };
            return Err(impossible(reason.into()));
        }
        self.begun = true;
        Ok(())
    }

    fn apply_to_step(&mut self, entry: &Entry, step: StepIndex) -> Result<(), String> {
        if self.status(step) == Running && ends_work(&entry.record) {
            self.change(step, |row| row.end(entry.elapsed_millis));
        }
        match &entry.record {
            Record::Begun | Record::Resumed | Record::Revised { .. } | Record::Stopped { .. } => {}
            Record::Started { attempt, side_effect, .. } => {
                self.started(step, (*attempt, *side_effect), entry.elapsed_millis)?;
            }
            Record::Worked { output, .. } => {
                self.change(step, |row| row.mark = Mark::Worked);
                self.note(step, |notes| notes.worked = Some(Arc::clone(output)));
            }
            Record::Completed { output, finding, .. } => {
                self.completed(step, (output.clone(), finding.clone()), entry.elapsed_millis)?;
            }
            Record::AttemptFailed { error, .. } => {
                self.becomes(step, Pending)?;
                self.attempt_ends(step);
                self.change(step, |row| row.error = Some(Arc::new(error.clone())));
            }
            Record::Failed { error, execution_detached, .. } => {
                self.becomes(step, Failed)?;
                self.attempt_ends(step);
                self.change(step, |row| {
                    row.error = Some(Arc::new(error.clone()));
                    row.mark = if *execution_detached { Mark::Detached } else { Mark::None };
                });
            }
            Record::Blocked { error, .. } => {
                self.becomes(step, Blocked)?;
                self.denied |= error.code == StepErrorCode::Denied;
                self.attempt_ends(step);
                self.change(step, |row| row.error = Some(Arc::new(error.clone())));
            }
            Record::Skipped { .. } => self.becomes(step, Skipped)?,
            Record::Rejected { note, .. } => {
                self.becomes(step, Pending)?;
                self.attempt_ends(step);
                self.change(step, |row| row.generation = row.generation.saturating_add(1));
                self.note(step, |notes| notes.review = Some(note.as_str().into()));
            }
            Record::Released { .. } => self.uncount(step)?,
            Record::Interrupted { .. } => {
                self.uncount(step)?;
                self.change(step, |row| row.interruptions = row.interruptions.saturating_add(1));
            }
            Record::OutcomeUnknown { .. } => self.change(step, |row| row.mark = Mark::OutcomeUnknown),
            Record::Detached { stop, executor_cooperative_cancellation, .. } => self.change(step, |row| {
                row.mark = Mark::Detached;
                row.left = Some(Left { stop: *stop, cooperative: *executor_cooperative_cancellation });
            }),
            Record::DetachedEnded { .. } => self.change(step, |row| row.mark = Mark::None),
            Record::ApprovalRequired { request, hook_asked, .. } => self.note(step, |notes| {
                notes.gate = Some(*request);
                notes.hook_asked = *hook_asked;
            }),
            Record::Approved { request, metadata, .. } => self.note(step, |notes| {
                notes.gate = None;
                notes.approved = Some(*request);
                notes.approval.clone_from(metadata);
            }),
            Record::Asked { question, .. } => {
                self.uncount(step)?;
                self.change(step, |row| row.interruptions = 0);
                self.note(step, |notes| {
                    notes.question = Some(question.clone());
                    notes.answer = None;
                });
            }
            Record::Answered { answer, .. } => {
                self.note(step, |notes| notes.answer = Some(answer.clone()));
            }
            Record::Reset { .. } => self.reset(step)?,
            Record::RevisionAsked { .. } => {
                self.change(step, |row| row.offered = true);
                self.replans = self.replans.saturating_add(1);
                self.revising = Some(step);
            }
            Record::RevisionFailed { .. } => self.revising = None,
        }
        Ok(())
    }

    /// Takes the record of a start that nobody wants to see, by what it says.
    pub(in crate::machine) fn append_start(
        &mut self,
        step: StepIndex,
        said: (u32, bool),
        elapsed_millis: u64,
    ) -> Result<(), String> {
        self.started(step, said, elapsed_millis)?;
        self.advance(elapsed_millis);
        Ok(())
    }

    /// The same for that of a completion.
    pub(in crate::machine) fn append_completion(
        &mut self,
        step: StepIndex,
        said: (Option<Arc<TaskOutput>>, Option<Finding>),
        elapsed_millis: u64,
    ) -> Result<(), String> {
        self.completed(step, said, elapsed_millis)?;
        self.advance(elapsed_millis);
        Ok(())
    }

    fn completed(
        &mut self,
        step: StepIndex,
        (output, finding): (Option<Arc<TaskOutput>>, Option<Finding>),
        elapsed_millis: u64,
    ) -> Result<(), String> {
        if self.status(step) == Running {
            self.change(step, |row| row.end(elapsed_millis));
        }
        let worked = || self.notes.get(&step).and_then(|notes| notes.worked.clone());
        let output = output.or_else(worked).ok_or("no output is there")?;
        self.becomes(step, Completed)?;
        if !self.outputs.publish(step, self.sequence.saturating_add(1), output) {
            return Err("the step has an output".into());
        }
        self.change(step, |row| row.error = None);
        self.attempt_ends(step);
        // That most outputs pass is not worth a note each.
        if let Some(finding) = finding.filter(|finding| *finding != Finding::Pass) {
            self.note(step, |notes| notes.finding = Some(finding));
        }
        Ok(())
    }

    fn started(
        &mut self,
        step: StepIndex,
        (attempt, side_effect): (u32, bool),
        started_millis: u64,
    ) -> Result<(), String> {
        self.becomes(step, Running)?;
        let next = self.row(step).attempts.saturating_add(1);
        if attempt != next {
            return Err(format!("it is attempt {attempt} and {next} is next"));
        }
        self.starts.push(step);
        let start = self.starts();
        self.change(step, |row| {
            row.start = start;
            row.attempts = attempt;
            row.side_effect = side_effect;
            row.started_millis = started_millis;
            row.took_millis = None;
        });
        Ok(())
    }

    pub(super) fn becomes(&mut self, step: StepIndex, to: StepStatus) -> Result<(), String> {
        let from = self.status(step);
        self.readiness.set(&self.plan, step, to).map_err(|error| error.to_string())?;
        for (status, by) in [(from, -1), (to, 1)] {
            if let Some(count) = self.by_status.get_mut(status as usize) {
                *count = count.saturating_add_signed(by);
            }
        }
        Ok(())
    }

    /// From pending to a status, by the way that leads there.
    pub(super) fn reaches(&mut self, step: StepIndex, status: StepStatus) -> Result<(), String> {
        if matches!(status, Completed | Failed) {
            self.becomes(step, Running)?;
        }
        if status == Pending { Ok(()) } else { self.becomes(step, status) }
    }

    pub(super) fn change(&mut self, step: StepIndex, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.rows.get_mut(step.row()) {
            change(row);
        }
    }

    /// Changes what few steps have, and forgets it where nothing is left.
    fn note(&mut self, step: StepIndex, change: impl FnOnce(&mut Notes)) {
        let mut notes = self.notes.remove(&step).unwrap_or_default();
        change(&mut notes);
        if notes != Notes::default() {
            self.notes.insert(step, notes);
        }
    }

    /// The attempt counts, and what belonged to it alone goes.
    fn attempt_ends(&mut self, step: StepIndex) {
        self.change(step, |row| {
            row.interruptions = 0;
            row.mark = Mark::None;
        });
        if self.notes.contains_key(&step) {
            let completed = self.status(step) == Completed;
            self.note(step, |notes| {
                // Who approved what was done is worth keeping with it.
                let approval = if completed { std::mem::take(&mut notes.approval) } else { Metadata::new() };
                *notes = Notes { approval, ..Notes::default() };
            });
        }
    }

    fn uncount(&mut self, step: StepIndex) -> Result<(), String> {
        self.becomes(step, Pending)?;
        self.change(step, |row| {
            row.attempts = row.attempts.saturating_sub(1);
            row.mark = Mark::None;
            row.started_millis = 0;
            row.took_millis = None;
        });
        Ok(())
    }

    /// The step and whatever was skipped behind it start anew, level by level.
    fn reset(&mut self, step: StepIndex) -> Result<(), String> {
        self.becomes(step, Pending)?;
        self.attempt_ends(step);
        // What was asked about it has no object any more.
        self.revising = self.revising.filter(|asked| *asked != step);
        self.change(step, |row| {
            let Row { start, generation, gated, .. } = *row;
            *row = Row { start, generation: generation.saturating_add(1), gated, ..Row::default() };
        });
        let mut behind = vec![step];
        while let Some(source) = behind.pop() {
            let skipped: Vec<_> = self
                .plan
                .dependents(source)
                .map(|edge| edge.step)
                .filter(|dependent| self.status(*dependent) == Skipped)
                .collect();
            for dependent in skipped {
                self.becomes(dependent, Pending)?;
                behind.push(dependent);
            }
        }
        Ok(())
    }
}

/// Whether a record about a running step says that its work has ended, or was given up.
fn ends_work(record: &Record) -> bool {
    matches!(
        record,
        Record::Worked { .. }
            | Record::AttemptFailed { .. }
            | Record::Failed { .. }
            | Record::Blocked { .. }
            | Record::Rejected { .. }
    )
}
