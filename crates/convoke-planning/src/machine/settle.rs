//! What becomes of a step whose work has ended.

use std::{sync::Arc, time::Duration};

use convoke_core::TaskOutput;
use serde_json::Value;

use crate::{
    StepIndex, StepStatus,
    machine::{
        Machine,
        command::Command,
        ending::Ending,
        error::{Refusal, StepError, StepErrorCode},
        event::{Finding, Moment, WorkOutcome},
        ledger::Mark,
        phase::Phase,
        record::Record,
        stop::StopReason,
        timers::{Alarm, Timer},
    },
};

impl Machine {
    pub(super) fn work_ended(
        &mut self,
        now: Moment,
        step: StepIndex,
        outcome: WorkOutcome,
        ended: Duration,
        out: &mut Vec<Command>,
    ) {
        let phase = self.phase(step);
        if !matches!(phase, Phase::Running | Phase::Stopping) {
            // Work that was given up before, and says that the rest of it goes on: that has an end of its own.
            if outcome != (WorkOutcome::TimedOut { detached: true }) {
                self.detached_ended(now, step, out);
            }
            return;
        }
        let ended = ended.min(now.running);
        self.end_overdue_run(now, ended, out);
        let owns_deadline = self.executor(step).owns_deadline;
        if let Some(ending) = self.ending
            && !counts_after_all(&outcome, ended, ending, owns_deadline)
        {
            self.release_or_detach(now, step, &outcome, ending.stop, out);
            return;
        }
        let late = !owns_deadline && self.phases.until(step).is_some_and(|until| ended > until);
        let stopped = phase == Phase::Stopping && outcome == WorkOutcome::Cancelled;
        let outcome = if late || stopped { WorkOutcome::TimedOut { detached: false } } else { outcome };
        self.enter(step, Phase::Idle);
        match outcome {
            WorkOutcome::Completed(output) => self.output_came(now, step, output, out),
            WorkOutcome::Failed(error) => self.attempt_failed(now, step, error, out),
            WorkOutcome::Blocked { error, retryable: true } if self.has_attempts(step) => {
                self.attempt_failed(now, step, error, out);
            }
            WorkOutcome::Blocked { error, .. } => self.block(now, step, error, out),
            WorkOutcome::Cancelled => {
                let message = format!("step `{}` stopped unasked; see why its executor did", self.name(step));
                let error = StepError::new(StepErrorCode::ExecutionCancelled, message);
                self.attempt_failed(now, step, error, out);
            }
            WorkOutcome::TimedOut { detached: false } => {
                let error = self.timeout(step);
                self.attempt_failed(now, step, error, out);
            }
            WorkOutcome::TimedOut { detached: true } => return self.give_up(now, step, out),
            WorkOutcome::Asked(question) => {
                self.record_of(now, out, step, |step| Record::Asked { step, question });
                self.enter(step, Phase::Question);
            }
        }
        self.vacate(now, step);
    }

    /// The run is over: what ended because of that does not count.
    fn release_or_detach(
        &mut self,
        now: Moment,
        step: StepIndex,
        outcome: &WorkOutcome,
        why: StopReason,
        out: &mut Vec<Command>,
    ) {
        if *outcome == (WorkOutcome::TimedOut { detached: true }) {
            return self.detach(now, step, why, out);
        }
        self.enter(step, Phase::Idle);
        self.record_of(now, out, step, |step| Record::Released { step });
        self.vacate(now, step);
    }

    pub(super) fn detached_ended(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        if self.ledger.row(step).mark != Mark::Detached {
            return;
        }
        self.record_of(now, out, step, |step| Record::DetachedEnded { step });
        if self.phase(step) == Phase::Detached {
            self.enter(step, Phase::Idle);
            self.vacate(now, step);
        }
    }

    fn output_came(&mut self, now: Moment, step: StepIndex, output: Arc<TaskOutput>, out: &mut Vec<Command>) {
        if self.settings.reflection {
            self.record_of(now, out, step, |step| Record::Worked { step, output });
            self.review(step, out);
        } else {
            self.complete(now, step, (Some(output), None), out);
        }
    }

    /// Has the output looked at that the ledger keeps for that.
    pub(super) fn review(&mut self, step: StepIndex, out: &mut Vec<Command>) {
        let Some(output) = self.ledger.notes(step).and_then(|notes| notes.worked.clone()) else { return };
        self.enter(step, Phase::Reviewing);
        out.push(Command::Review { step, start: self.ledger.row(step).start, output });
    }

    /// No output stands for the one that the ledger keeps.
    pub(super) fn complete(
        &mut self,
        now: Moment,
        step: StepIndex,
        (output, finding): (Option<Arc<TaskOutput>>, Option<Finding>),
        out: &mut Vec<Command>,
    ) {
        if self.tells_records() {
            self.record_of(now, out, step, |step| Record::Completed { step, output, finding });
        } else {
            let taken = self.ledger.append_completion(step, (output, finding), self.elapsed_millis(now));
            debug_assert!(taken.is_ok(), "{taken:?}: {step:?}");
        }
        self.awaken(step);
    }

    pub(super) fn reviewed(
        &mut self,
        now: Moment,
        step: StepIndex,
        finding: Finding,
        out: &mut Vec<Command>,
    ) {
        if self.phase(step) != Phase::Reviewing {
            return;
        }
        self.enter(step, Phase::Idle);
        match finding {
            Finding::Pass => self.complete(now, step, (None, Some(Finding::Pass)), out),
            Finding::Revise(text) => {
                let worked = self.ledger.notes(step).and_then(|notes| notes.worked.as_deref().cloned());
                let mut output = worked.unwrap_or_default();
                output.text.clone_from(&text);
                self.complete(now, step, (Some(Arc::new(output)), Some(Finding::Revise(text))), out);
            }
            Finding::Retry(note) if self.has_attempts(step) => {
                self.record_of(now, out, step, |step| Record::Rejected { step, note });
                self.agenda.push_back(step);
            }
            Finding::Retry(reason) | Finding::Replan(reason) => self.fail(now, step, rejected(reason), out),
            Finding::Block(reason) => self.block(now, step, rejected(reason), out),
        }
    }

    pub(super) fn answered_question(
        &mut self,
        now: Moment,
        start: u64,
        answer: Value,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let asked = self.ledger.step_of(start).filter(|step| self.has_open_question(*step));
        let step = asked.ok_or(Refusal::StaleAnswer { start })?;
        self.record_of(now, out, step, |step| Record::Answered { step, answer });
        if self.phase(step) == Phase::Question {
            self.enter(step, Phase::Idle);
            self.agenda.push_back(step);
        }
        Ok(())
    }

    fn has_attempts(&self, step: StepIndex) -> bool {
        self.ledger.row(step).attempts < self.policy.max_attempts()
    }

    fn attempt_failed(&mut self, now: Moment, step: StepIndex, error: StepError, out: &mut Vec<Command>) {
        if !self.has_attempts(step) {
            return self.fail(now, step, error, out);
        }
        let failures = self.ledger.row(step).attempts;
        self.record_of(now, out, step, |step| Record::AttemptFailed { step, error });
        let start = self.ledger.row(step).start;
        let delay = self.policy.backoff().delay(failures, self.chance(start));
        if delay.is_zero() {
            self.agenda.push_back(step);
        } else {
            let at = now.running.saturating_add(delay);
            self.enter(step, Phase::Backoff);
            self.phases.set_until(step, Some(at));
            self.set_timer(Timer { at, step, start, alarm: Alarm::Backoff });
        }
    }

    pub(super) fn fail(&mut self, now: Moment, step: StepIndex, error: StepError, out: &mut Vec<Command>) {
        self.record_of(now, out, step, |step| Record::Failed { step, error, execution_detached: false });
        self.offer(step);
        self.awaken(step);
    }

    pub(super) fn block(&mut self, now: Moment, step: StepIndex, error: StepError, out: &mut Vec<Command>) {
        self.enter(step, Phase::Idle);
        self.record_of(now, out, step, |step| Record::Blocked { step, error });
        self.offer(step);
        self.awaken(step);
    }

    /// Its time is over and its work is not: it fails, and keeps its place and turn.
    pub(super) fn give_up(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        let error = self.timeout(step);
        self.record_of(now, out, step, |step| Record::Failed { step, error, execution_detached: true });
        self.enter(step, Phase::Detached);
        self.awaken(step);
    }

    fn timeout(&self, step: StepIndex) -> StepError {
        let message = format!(
            "step `{}` did not end before its deadline; allow it more time, or split it",
            self.name(step)
        );
        StepError::new(StepErrorCode::StepTimeout, message)
    }

    pub(super) fn has_open_question(&self, step: StepIndex) -> bool {
        self.ledger.status(step) == StepStatus::Pending
            && self.ledger.notes(step).is_some_and(|notes| notes.question.is_some() && notes.answer.is_none())
    }

    /// An even number from 0 to 1 for the wait after a start, the same in every replay.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
    fn chance(&self, start: u64) -> f64 {
        // SplitMix64, which turns a counter into bits without a pattern.
        let mut bits = self.settings.seed.wrapping_add(start.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn rejected(reason: String) -> StepError {
    StepError::new(StepErrorCode::Rejected, reason)
}

/// Whether an end counts though the run is over: it came in time, or it is work that is done and nobody's clock forbids.
fn counts_after_all(outcome: &WorkOutcome, ended: Duration, ending: Ending, owns_deadline: bool) -> bool {
    match outcome {
        WorkOutcome::Completed(_) => {
            ended <= ending.by || owns_deadline || ending.stop != StopReason::RunTimeout
        }
        WorkOutcome::Failed(_) | WorkOutcome::Blocked { .. } | WorkOutcome::Asked(_) => ended <= ending.by,
        WorkOutcome::Cancelled | WorkOutcome::TimedOut { .. } => false,
    }
}
