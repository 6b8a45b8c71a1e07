//! What observers, sinks and followers are told.

use convoke_core::StepId;
use convoke_observability::{EventSink as _, is_taken};

use crate::{
    PlanEvent, PlanEventKind as Kind, PlanUpdate, StepIndex,
    machine::{Record, Start, StepErrorCode, StopReason},
    runner::driver::Driver,
};

impl Driver {
    pub(super) fn is_observed(&self) -> bool {
        let settings = &self.settings;
        !settings.observers.is_empty() || settings.sink.is_some() || self.shared.hub().has_followers()
    }

    fn event(&self, kind: Kind, step: Option<&StepId>) -> PlanEvent {
        // The machine is ahead of what is told: it may have decided the next attempt already.
        let attempt = step.and_then(|step| self.attempts.get(step)).copied();
        PlanEvent {
            kind,
            plan: self.machine.plan().id().clone(),
            run: self.shared.id().clone(),
            step: step.cloned(),
            attempt,
            code: None,
            stop: None,
            trace_id: self.scope.trace_id().cloned(),
            elapsed: self.clock.running(),
        }
    }

    fn tell(&mut self, event: PlanEvent) {
        let mut failures = 0;
        for observer in &self.settings.observers {
            failures += u64::from(!is_taken(|| observer.0.observe(&event)));
        }
        if let Some((sink, ids)) = &self.settings.sink {
            let published =
                is_taken(|| sink.publish(event.to_event(ids.next_id(), self.clock.unix_millis())));
            failures += u64::from(!published);
        }
        self.shared.hub().tell(|| PlanUpdate::Event(event));
        self.observer_failures += failures;
    }

    pub(super) fn observe_ready(&mut self, step: StepIndex) {
        if self.is_observed() {
            let id = self.machine.plan().step(step).map(|step| step.id.clone());
            self.tell(self.event(Kind::StepReady, id.as_ref()));
        }
    }

    pub(super) fn observe_start(&mut self, start: &Start) {
        if self.is_observed() {
            let id = self.machine.plan().step(start.step).map(|step| step.id.clone());
            let event =
                PlanEvent { attempt: Some(start.attempt), ..self.event(Kind::StepStarted, id.as_ref()) };
            self.tell(event);
        }
    }

    pub(super) fn observe_checkpoint(&mut self) {
        if self.is_observed() {
            self.tell(self.event(Kind::Checkpointed, None));
        }
    }

    pub(super) fn observe_end(&mut self, stop: StopReason) {
        if self.is_observed() {
            let ended = |driver: &Self, kind| PlanEvent { stop: Some(stop), ..driver.event(kind, None) };
            if stop == StopReason::Cancelled {
                self.tell(ended(self, Kind::Cancelled));
            }
            self.tell(ended(self, Kind::Finished));
        }
    }

    pub(super) fn observe_record(&mut self, record: &Record) {
        if let Record::Started { step, attempt, .. } = record {
            self.attempts.insert(step.clone(), *attempt);
        }
        if self.is_observed() {
            self.tell_record(record);
        }
        if let Record::Completed { step, .. }
        | Record::AttemptFailed { step, .. }
        | Record::Failed { step, .. }
        | Record::Blocked { step, .. }
        | Record::Rejected { step, .. }
        | Record::Released { step }
        | Record::Interrupted { step }
        | Record::Asked { step, .. }
        | Record::Reset { step } = record
        {
            self.attempts.remove(step);
        }
    }

    fn tell_record(&mut self, record: &Record) {
        if let Record::Failed { step, error, .. } | Record::Blocked { step, error } = record
            && error.code == StepErrorCode::Rejected
        {
            self.tell(self.event(Kind::StepReflected, Some(step)));
        }
        let mut code = None;
        let kind = match record {
            Record::Begun => Kind::Created,
            Record::Resumed => Kind::Resumed,
            Record::Completed { step, finding, .. } => {
                if finding.as_ref().is_some_and(|finding| *finding != crate::machine::Finding::Pass) {
                    self.tell(self.event(Kind::StepReflected, Some(step)));
                }
                Kind::StepCompleted
            }
            Record::AttemptFailed { error, .. } => {
                code = Some(error.code);
                Kind::AttemptFailed
            }
            Record::Failed { error, .. } => {
                code = Some(error.code);
                if error.code == StepErrorCode::StepTimeout { Kind::StepTimedOut } else { Kind::StepFailed }
            }
            Record::Blocked { error, .. } => {
                code = Some(error.code);
                Kind::StepBlocked
            }
            Record::Skipped { .. } => Kind::StepSkipped,
            Record::Rejected { .. } => Kind::StepReflected,
            Record::Released { .. } | Record::Interrupted { .. } | Record::Reset { .. } => Kind::StepReleased,
            Record::Detached { .. } => Kind::StepDetached,
            Record::ApprovalRequired { .. } => Kind::ApprovalRequired,
            Record::Approved { .. } => Kind::Approved,
            Record::Asked { .. } => Kind::QuestionAsked,
            Record::Answered { .. } => Kind::QuestionAnswered,
            Record::RevisionAsked { .. } => Kind::RevisionAsked,
            Record::Revised { .. } => Kind::Revised,
            Record::RevisionFailed { .. } => Kind::RevisionFailed,
            // A start is told of when it is carried out, an end when the run is over; the rest leads to others.
            Record::Started { .. }
            | Record::Worked { .. }
            | Record::OutcomeUnknown { .. }
            | Record::DetachedEnded { .. }
            | Record::Stopped { .. } => return,
        };
        let event = PlanEvent { code, ..self.event(kind, record.step()) };
        self.tell(event);
    }
}
