//! How a run begins, and how a step begins anew.

use std::time::Duration;

use convoke_core::StepId;

use crate::{
    StepIndex, StepStatus,
    machine::{
        Machine, Run,
        command::Command,
        error::{Refusal, StepError, StepErrorCode},
        event::Moment,
        ledger::Mark,
        phase::Phase,
        record::Record,
        stop::StopReason,
    },
};

/// So often a step may be interrupted in a row; then it is taken for the cause.
const MAX_INTERRUPTIONS: u32 = 5;

impl Machine {
    pub(super) fn begin(&mut self, now: Moment, out: &mut Vec<Command>) -> Result<(), Refusal> {
        if self.run.is_some() {
            return Err(Refusal::Running);
        }
        if self.ledger.is_begun() {
            return Err(Refusal::BegunBefore);
        }
        self.open(now);
        self.record(now, out, Record::Begun);
        self.agenda.extend(self.plan.indices());
        Ok(())
    }

    pub(super) fn resume(
        &mut self,
        now: Moment,
        retry_failed: bool,
        still_running: &[u64],
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        if self.run.is_some() || !self.ledger.is_begun() {
            return self.begin(now, out);
        }
        self.open(now);
        self.record(now, out, Record::Resumed);
        for start in still_running {
            self.leave_running(now, *start, out);
        }
        for step in self.plan.indices() {
            if self.phase(step) == Phase::Detached {
                continue;
            }
            match self.ledger.status(step) {
                StepStatus::Running => self.take_up(now, step, out),
                StepStatus::Failed if retry_failed && !self.may_still_run(step) => {
                    self.record_of(now, out, step, |step| Record::Reset { step });
                }
                _ => {}
            }
        }
        self.resume_revision();
        // Resets may have let go what stands before them in the plan.
        self.agenda.extend(self.plan.indices());
        Ok(())
    }

    fn open(&mut self, now: Moment) {
        let elapsed = Duration::from_millis(self.ledger.elapsed_millis());
        let left = self.policy.run_timeout().map(|timeout| timeout.saturating_sub(elapsed));
        let own = left.map(|left| now.running.saturating_add(left));
        self.run = Some(Run {
            began: now.running,
            elapsed_before: self.ledger.elapsed_millis(),
            starts: 0,
            deadline: own.into_iter().chain(self.settings.deadline).min(),
        });
    }

    /// A step whose work an earlier run of this process gave up, and which still runs.
    fn leave_running(&mut self, now: Moment, start: u64, out: &mut Vec<Command>) {
        let Some(step) = self.ledger.step_of(start) else { return };
        match (self.ledger.status(step), self.ledger.row(step).mark) {
            (_, Mark::Detached) => self.enter(step, Phase::Detached),
            // It was given up when nothing was recorded any more, and only this process knows.
            (StepStatus::Running, Mark::None) => self.detach(now, step, StopReason::StoreFailed, out),
            _ => return,
        }
        self.serials.hold(self.executor(step).serial, step);
    }

    /// A step that ran when the process ended.
    fn take_up(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        let row = self.ledger.row(step);
        match row.mark {
            Mark::Worked if self.settings.reflection => self.review(step, out),
            Mark::Worked => self.complete(now, step, (None, None), out),
            Mark::Detached if self.policy.reset_detached_on_resume() => {
                self.record_of(now, out, step, |step| Record::Released { step });
            }
            Mark::Detached | Mark::OutcomeUnknown => {}
            Mark::None if !self.policy.reset_running_on_resume() => {}
            Mark::None if row.side_effect => {
                self.record_of(now, out, step, |step| Record::OutcomeUnknown { step });
            }
            Mark::None if row.interruptions.saturating_add(1) >= MAX_INTERRUPTIONS => {
                let message = format!(
                    "step `{}` was interrupted {MAX_INTERRUPTIONS} times in a row; see whether it ends the process",
                    self.name(step)
                );
                let error = StepError::new(StepErrorCode::InterruptedRepeatedly, message);
                self.fail(now, step, error, out);
            }
            Mark::None => self.record_of(now, out, step, |step| Record::Interrupted { step }),
        }
    }

    fn may_still_run(&self, step: StepIndex) -> bool {
        self.ledger.row(step).mark == Mark::Detached && !self.policy.reset_detached_on_resume()
    }

    pub(super) fn reset_step(
        &mut self,
        now: Moment,
        (step, id): (StepIndex, StepId),
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let status = self.ledger.status(step);
        let live = self.phase(step) != Phase::Idle || self.may_still_run(step);
        let resettable = match status {
            StepStatus::Failed | StepStatus::Blocked => true,
            // What is running and not live was left so by an earlier run.
            StepStatus::Running => self.ledger.row(step).mark != Mark::Worked,
            _ => false,
        };
        if live || !resettable {
            return Err(Refusal::NotReset { step: id, status });
        }
        self.record_of(now, out, step, |step| Record::Reset { step });
        if self.ledger.revising().is_none() {
            self.asking = None;
        }
        self.withdraw(now);
        if self.is_running() {
            self.agenda.extend(self.plan.indices());
        }
        Ok(())
    }

    /// Takes back what was on its way because of an end that is none any more.
    fn withdraw(&mut self, now: Moment) {
        let gone = |machine: &Self, step: StepIndex| {
            let pending = machine.ledger.status(step) == StepStatus::Pending;
            pending && machine.phase(step) != Phase::Idle && !machine.ledger.is_ready(step)
        };
        let gone: Vec<_> = self.plan.indices().filter(|step| gone(self, *step)).collect();
        for step in gone {
            self.queue.remove(step);
            self.requests.retain(|_, other| *other != step);
            self.enter(step, Phase::Idle);
            // Were it next in turn, another is.
            self.vacate(now, step);
        }
    }
}
