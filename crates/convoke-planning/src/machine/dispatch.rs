//! From ready to started.

use std::sync::Arc;

use crate::{
    StepIndex, StepStatus,
    machine::{
        Effects, Machine,
        command::{Answer, Command, Start},
        error::{StepError, StepErrorCode},
        event::Moment,
        phase::Phase,
        record::Record,
        timers::{Alarm, Timer},
    },
};

impl Machine {
    /// Looks at all steps whose situation may have changed. What that changes is put on the same list, so that a long
    /// chain of consequences takes no stack.
    pub(super) fn look_around(&mut self, now: Moment, out: &mut Vec<Command>) {
        while self.failures.is_empty()
            && let Some(step) = self.agenda.pop_front()
        {
            self.count();
            if self.ledger.status(step) != StepStatus::Pending || self.phase(step) != Phase::Idle {
                continue;
            }
            if self.ledger.is_barred(step) {
                if self.policy.continue_after_failure() {
                    self.record_of(now, out, step, |step| Record::Skipped { step });
                    self.awaken(step);
                }
            } else if self.ledger.is_ready(step) {
                self.ready(now, step, out);
            }
        }
    }

    fn ready(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        if self.has_open_question(step) {
            return self.enter(step, Phase::Question);
        }
        if !self.unheard {
            out.push(Command::Ready { step });
        }
        if !self.has_executor(step) {
            let message = format!("no executor takes step `{}`; add one that does", self.name(step));
            return self.block(now, step, StepError::new(StepErrorCode::NoExecutor, message), out);
        }
        self.admit(now, step, out);
    }

    /// Puts a step among those that start when a place is free.
    pub(super) fn enqueue(&mut self, now: Moment, step: StepIndex) {
        self.enter(step, Phase::Idle);
        // A scorer that fails ends the run, and is not asked again.
        if self.score_error.is_none() {
            match self.queue.push(&self.plan, step, now.unix_millis) {
                Ok(()) => self.enter(step, Phase::Queued),
                Err(error) => self.score_error = Some(error),
            }
        }
    }

    /// Has those that wait for a step looked at.
    pub(super) fn awaken(&mut self, step: StepIndex) {
        self.agenda.extend(self.plan.dependents(step).map(|edge| edge.step));
    }

    /// Starts what may start.
    pub(super) fn dispatch(&mut self, now: Moment, out: &mut Vec<Command>) {
        while self.may_start(now) {
            self.count();
            let Some(mut taken) = self.queue.take(now.unix_millis) else { return };
            let key = self.executor(taken.step()).serial;
            if let Some(key) = key {
                if !self.serials.is_free(key) {
                    self.queue.put_aside(taken, key);
                    self.enter(taken.step(), Phase::Parked);
                    continue;
                }
                // Since it was recalled, another may have become better.
                taken = self.queue.best_of(taken, key);
            }
            self.serials.hold(key, taken.step());
            self.start(now, taken.step(), out);
        }
    }

    fn may_start(&self, now: Moment) -> bool {
        !self.is_halted()
            && self.failures.is_empty()
            && !self.is_past_last_start(now)
            && self.phases.places() < usize::try_from(self.policy.max_parallel_steps()).unwrap_or(usize::MAX)
            && self.run_limit_allows()
            && self.budget_allows()
    }

    pub(super) fn is_past_last_start(&self, now: Moment) -> bool {
        self.policy.no_start_after_unix_millis().is_some_and(|last| now.unix_millis > last)
    }

    pub(super) fn run_limit_allows(&self) -> bool {
        let limit = self.policy.max_step_runs(self.plan.steps().len());
        limit.allows(self.ledger.starts().saturating_add(1))
    }

    pub(super) fn budget_allows(&self) -> bool {
        let starts = self.run.map_or(0, |run| run.starts);
        self.policy.steps_per_run().allows(starts.saturating_add(1))
    }

    fn start(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        let attempt = self.ledger.row(step).attempts.saturating_add(1);
        let side_effect = self.executor(step).effects == Effects::SideEffect;
        if self.tells_records() {
            self.record_of(now, out, step, |step| Record::Started { step, attempt, side_effect });
        } else {
            let taken = self.ledger.append_start(step, (attempt, side_effect), self.elapsed_millis(now));
            debug_assert!(taken.is_ok(), "{taken:?}: {step:?}");
        }
        if let Some(run) = &mut self.run {
            run.starts += 1;
        }
        let sequence = self.ledger.sequence();
        if self.holds_starts() || side_effect && !self.muted {
            self.enter(step, Phase::Starting);
            self.held.push_back((sequence, step));
        } else {
            self.launch(now, step, sequence, out);
        }
    }

    /// Lets go the starts that have become durable.
    pub(super) fn launch_held(&mut self, now: Moment, out: &mut Vec<Command>) {
        while let Some((sequence, step)) = self.held.front().copied().filter(|held| held.0 <= self.persisted)
        {
            self.held.pop_front();
            self.launch(now, step, sequence, out);
        }
    }

    fn launch(&mut self, now: Moment, step: StepIndex, sequence: u64, out: &mut Vec<Command>) {
        let executor = self.executor(step);
        let of_run = self.run.and_then(|run| run.deadline);
        let own = self.policy.step_timeout().map(|time| now.running.saturating_add(time));
        // Where the run's time is over first, it is the run that ends.
        let own = own.filter(|own| of_run.is_none_or(|of_run| *own < of_run));
        self.enter(step, Phase::Running);
        self.phases.set_until(step, own);
        if let Some(at) = own
            && !executor.owns_deadline
        {
            self.set_timer(Timer { at, step, start: self.ledger.row(step).start, alarm: Alarm::Deadline });
        }
        let row = self.ledger.row(step);
        let notes = self.ledger.notes(step);
        let answer = notes.and_then(|notes| {
            Some(Arc::new(Answer { question: notes.question.clone()?, answer: notes.answer.clone()? }))
        });
        out.push(Command::Start(Start {
            step,
            start: row.start,
            attempt: row.attempts,
            generation: row.generation,
            deadline: own.or(of_run),
            sequence,
            answer,
            note: notes.and_then(|notes| notes.review.clone()),
            placement: executor.placement,
        }));
    }

    /// Gives back the serial turn of a step whose work has ended. The best of those that wait for it is queued again.
    pub(super) fn vacate(&mut self, now: Moment, step: StepIndex) {
        let key = self.executor(step).serial;
        self.serials.give_back(key, step);
        if let Some(key) = key.filter(|key| self.serials.is_free(*key))
            && let Some(next) = self.queue.recall(key, now.unix_millis)
        {
            self.count();
            self.enter(next, Phase::Queued);
        }
    }
}
