//! What happens when a planner may revise the plan after a failure.

use crate::{
    Plan, StepIndex, StepStatus,
    machine::{
        Capabilities, Machine,
        command::Command,
        error::{Refusal, StepErrorCode},
        event::Moment,
        has_deadlines,
        ledger::{Mark, moved},
        phase::{Phase, Phases},
        record::Record,
        serial::{Executor, Serials},
    },
};

/// A planner that is to be asked, or was.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    step: StepIndex,
    /// The record that is to be durable before the ask.
    sequence: u64,
    asked: bool,
    /// Why an answer was not taken.
    refused: Option<String>,
}

impl Machine {
    /// Whether a planner has the plan, so that nothing new starts.
    pub(super) fn is_revising(&self) -> bool {
        self.asking.is_some()
    }

    /// A step has failed or is blocked: the planner may be asked about it, once.
    pub(super) fn offer(&mut self, step: StepIndex) {
        if self.policy.max_replans().is_some() {
            self.failures.push_back(step);
        }
    }

    /// Asks the planner about the next failure that it was not asked about.
    pub(super) fn consider_revision(&mut self, now: Moment, out: &mut Vec<Command>) {
        if self.ending.is_some() || self.score_error.is_some() {
            // They are on record, so that a later run offers them.
            self.failures.clear();
            self.asking.take_if(|asking| !asking.asked);
        }
        while self.asking.is_none() {
            let Some(step) = self.failures.pop_front() else { return };
            let limit = self.policy.max_replans();
            let allowed = limit.is_some_and(|limit| limit.allows(self.ledger.replans().saturating_add(1)));
            if allowed && self.is_offered(step) {
                self.record_of(now, out, step, |step| Record::RevisionAsked { step });
                let sequence = self.ledger.sequence();
                self.asking = Some(Asking { step, sequence, asked: false, refused: None });
            }
        }
        self.ask_planner(out);
    }

    fn is_offered(&self, step: StepIndex) -> bool {
        let row = self.ledger.row(step);
        matches!(self.ledger.status(step), StepStatus::Failed | StepStatus::Blocked)
            && !row.offered
            && row.mark != Mark::Detached
            && row.error.as_ref().is_some_and(|error| error.code != StepErrorCode::Denied)
    }

    pub(super) fn ask_planner(&mut self, out: &mut Vec<Command>) {
        let durable = self.persisted;
        let holds = self.holds_starts();
        if let Some(asking) = &mut self.asking
            && !asking.asked
            && (!holds || asking.sequence <= durable)
        {
            asking.asked = true;
            out.push(Command::AskPlanner { step: asking.step, refused: asking.refused.clone() });
        }
    }

    /// A run goes on where a planner was asked and has not answered, and offers what was not offered.
    pub(super) fn resume_revision(&mut self) {
        if self.policy.max_replans().is_none() {
            return;
        }
        self.failures = self.plan.indices().filter(|step| self.is_offered(*step)).collect();
        self.asking = self.ledger.revising().map(|step| Asking {
            step,
            sequence: self.ledger.sequence(),
            asked: false,
            refused: None,
        });
    }

    pub(super) fn revision_failed(
        &mut self,
        now: Moment,
        reason: String,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let asking = self.asking.take_if(|asking| asking.asked).ok_or(Refusal::NoRevision)?;
        self.record_of(now, out, asking.step, |step| Record::RevisionFailed { step, reason });
        Ok(())
    }

    /// What was given is not taken: the planner is asked once more, with the reason.
    pub(super) fn revision_refused(
        &mut self,
        now: Moment,
        reason: String,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let asking = self.asking.as_mut().filter(|asking| asking.asked).ok_or(Refusal::NoRevision)?;
        if asking.refused.is_some() {
            return self.revision_failed(now, format!("revision_conflict: {reason}"), out);
        }
        (asking.asked, asking.refused) = (false, Some(reason));
        self.ask_planner(out);
        Ok(())
    }

    /// Why a revision does not fit the plan and what has become of it; `None` where it does.
    fn revision_conflict(&self, plan: &Plan) -> Option<String> {
        let too_many =
            u64::try_from(plan.steps().len()).is_ok_and(|steps| steps > u64::from(self.policy.max_steps()));
        let too_many = too_many.then(|| "it has more steps than `max_steps` allows".to_owned());
        too_many.or_else(|| self.ledger.conflict(plan))
    }

    pub(super) fn revision_ready(
        &mut self,
        now: Moment,
        plan: &Plan,
        executors: Vec<Option<Capabilities>>,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        if !self.asking.as_ref().is_some_and(|asking| asking.asked) {
            return Err(Refusal::NoRevision);
        }
        if let Some(conflict) = self.revision_conflict(plan) {
            return self.revision_refused(now, conflict, out);
        }
        self.asking = None;
        let before = std::mem::replace(&mut self.plan, plan.clone());
        self.record(now, out, Record::Revised { plan: plan.clone() });
        self.follow(now, &before, executors);
        Ok(())
    }

    /// Moves everything that is under way to the places of the new revision.
    fn follow(&mut self, now: Moment, before: &Plan, mut executors: Vec<Option<Capabilities>>) {
        let steps = self.plan.steps().len();
        executors.resize(steps, None);
        self.serials = Serials::default();
        let serials = &mut self.serials;
        let old = std::mem::take(&mut self.executors);
        self.executors = executors.into_iter().map(|of| Some(serials.executor(of?))).collect();
        self.queue.restart(&self.plan);
        self.has_deadlines = has_deadlines(&self.plan);
        let phases = std::mem::replace(&mut self.phases, Phases::new(steps));
        let plan = self.plan.clone();
        let place = |step: StepIndex| moved(before, &plan, step);

        let mut ready = Vec::new();
        for was in before.indices() {
            let Some(step) = place(was) else { continue };
            let same = before.step(was) == plan.step(step);
            let stays = match phases.of(was) {
                Phase::Starting | Phase::Running | Phase::Stopping | Phase::Detached => {
                    // Who is at work stays what it was when it started, and keeps its turn.
                    let serial = self.executor(step).serial;
                    let executor = old.get(was.row()).copied().flatten();
                    if let Some(place) = self.executors.get_mut(step.row()) {
                        *place = executor.map(|executor| Executor { serial, ..executor });
                    }
                    self.serials.hold(serial, step);
                    true
                }
                Phase::Reviewing => true,
                Phase::Hook | Phase::Approval | Phase::Gate | Phase::Question | Phase::Backoff => {
                    same && self.ledger.is_ready(step)
                }
                Phase::Queued | Phase::Parked => {
                    if same && self.ledger.is_ready(step) {
                        ready.push(step);
                    }
                    false
                }
                Phase::Idle => false,
            };
            if stays {
                self.phases.enter(step, phases.of(was));
                self.phases.set_until(step, phases.until(was));
            }
        }
        let requests = std::mem::take(&mut self.requests).into_iter();
        let requests = requests.filter_map(|(request, step)| Some((request, place(step)?)));
        self.requests = requests.collect();
        // The planner need not wait for the ask to become durable, so that starts may still be held.
        let held = std::mem::take(&mut self.held).into_iter();
        self.held = held.filter_map(|(sequence, step)| Some((sequence, place(step)?))).collect();
        self.timers.relocate(place);
        self.failures = std::mem::take(&mut self.failures).into_iter().filter_map(place).collect();
        for step in ready {
            self.enqueue(now, step);
        }
        self.agenda = self.plan.indices().collect();
    }
}
