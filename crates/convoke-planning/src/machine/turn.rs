//! One turn of the machine: an event is taken, and all that follows from it is done.

use convoke_core::StepId;

use crate::{
    StepIndex,
    machine::{Closing, Command, Durability, Entry, Event, Machine, Moment, Record, Refusal, StopReason},
};

impl Machine {
    pub(super) fn take(&mut self, now: Moment, event: Event, out: &mut Vec<Command>) -> Result<(), Refusal> {
        match event {
            Event::Begin => return self.begin(now, out),
            Event::Resume { retry_failed, still_running } => {
                return self.resume(now, retry_failed, &still_running, out);
            }
            Event::Persisted { sequence } => {
                // What is not yet recorded cannot be durable.
                self.persisted = self.persisted.max(sequence.min(self.ledger.sequence()));
            }
            Event::StoreFailed => self.abandon(now, StopReason::StoreFailed, out),
            Event::ClaimLost => self.abandon(now, StopReason::ClaimLost, out),
            Event::WorkEnded { start, outcome, ended } => {
                if let Some(step) = self.ledger.step_of(start) {
                    self.work_ended(now, step, outcome, ended, out);
                }
            }
            Event::DetachedEnded { start } => {
                if let Some(step) = self.ledger.step_of(start) {
                    self.detached_ended(now, step, out);
                }
            }
            Event::Reviewed { start, finding } => {
                if let Some(step) = self.ledger.step_of(start) {
                    self.reviewed(now, step, finding, out);
                }
            }
            Event::HookDecided { request, decision } => {
                return self.hook_decided(now, request, decision, out);
            }
            Event::Approved { request, metadata } => return self.approved(now, request, metadata, out),
            Event::Denied { request, reason } => return self.denied(now, request, reason, out),
            Event::Deferred { request } => return self.deferred(request),
            Event::Answered { start, answer } => return self.answered_question(now, start, answer, out),
            Event::RevisionReady { plan, executors } => {
                return self.revision_ready(now, &plan, executors, out);
            }
            Event::RevisionRefused { reason } => return self.revision_refused(now, reason, out),
            Event::RevisionFailed { reason } => return self.revision_failed(now, reason, out),
            Event::Tick => {}
            Event::Cancel => self.end(now, StopReason::Cancelled, now.running, out),
            Event::ResetStep { step } => {
                let id = self.known(step)?;
                return self.reset_step(now, (step, id), out);
            }
        }
        Ok(())
    }

    /// Everything that follows from what has changed.
    pub(super) fn advance(&mut self, now: Moment, out: &mut Vec<Command>) {
        if self.is_running() {
            self.expire(now, out);
            self.launch_held(now, out);
            loop {
                self.consider_revision(now, out);
                if self.is_revising() {
                    break;
                }
                self.look_around(now, out);
                self.dispatch(now, out);
                if self.agenda.is_empty() && self.failures.is_empty() {
                    break;
                }
            }
            self.close(now, out);
        }
        let last = self.ledger.sequence();
        if let Some(Closing::At(stop)) = self.closing
            && self.persisted >= last
        {
            self.closing = Some(Closing::Done(stop));
        }
        self.flush(last, out);
        let wake = self.wake_at();
        if wake != self.wake {
            self.wake = wake;
            out.push(Command::WakeAt(wake));
        }
        if let Some(Closing::Done(stop)) = self.closing {
            out.push(Command::Finish(stop));
        }
    }

    fn flush(&mut self, last: u64, out: &mut Vec<Command>) {
        let is_waited_for = self.held.back().is_some_and(|held| held.0 > self.flushed);
        let wanted = self.settings.durability == Durability::Strict || is_waited_for || !self.is_running();
        if wanted && !self.muted && self.flushed < last {
            self.flushed = last;
            out.push(Command::Flush);
        }
    }

    /// The way in which the ledger changes, but for starts and completions that nobody hears of.
    pub(super) fn record(&mut self, now: Moment, out: &mut Vec<Command>, record: Record) {
        self.record_at(now, out, None, record);
    }

    fn record_at(&mut self, now: Moment, out: &mut Vec<Command>, step: Option<StepIndex>, record: Record) {
        let sequence = self.ledger.sequence().saturating_add(1);
        let entry = Entry { sequence, elapsed_millis: self.elapsed_millis(now), record };
        debug_assert_eq!(self.ledger.place_of(&entry), Ok(step), "{entry:?}");
        let taken = self.ledger.append_at(&entry, step);
        debug_assert!(taken.is_ok(), "{taken:?}: {entry:?}");
        if taken.is_ok() && self.tells_records() {
            out.push(Command::Persist(entry));
        }
    }

    /// How long the plan has run, over all resumes.
    pub(super) fn elapsed_millis(&self, now: Moment) -> u64 {
        self.run.map_or(self.ledger.elapsed_millis(), |run| {
            let of_run = now.running.saturating_sub(run.began).as_millis();
            run.elapsed_before.saturating_add(u64::try_from(of_run).unwrap_or(u64::MAX))
        })
    }

    /// Whether records go anywhere. The two of a step that goes well need not be made where they do not.
    pub(super) fn tells_records(&self) -> bool {
        !self.muted && !self.unheard
    }

    pub(super) fn record_of(
        &mut self,
        now: Moment,
        out: &mut Vec<Command>,
        step: StepIndex,
        record: impl FnOnce(StepId) -> Record,
    ) {
        if let Ok(id) = self.known(step) {
            self.record_at(now, out, Some(step), record(id));
        }
    }

    fn known(&self, step: StepIndex) -> Result<StepId, Refusal> {
        let place = step.get();
        self.plan.step(step).map(|step| step.id.clone()).ok_or(Refusal::UnknownStep { place })
    }
}
