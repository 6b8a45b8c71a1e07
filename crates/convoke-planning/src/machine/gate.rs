//! Gates: what must be said before a step may start.

use std::fmt;

use convoke_core::{Metadata, RequestDigest, TaskRequest};
use serde::{Deserialize, Serialize};

use crate::{
    StepDraft, StepIndex,
    machine::{
        Machine,
        command::Command,
        error::{Refusal, StepError, StepErrorCode},
        event::{HookDecision, Moment},
        phase::Phase,
        record::Record,
    },
};

/// Names a request to start a step: a digest of the step, its definition, its input, its generation and its attempt. A
/// repeat after an interruption has the same; whatever else changes gives another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(RequestDigest);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Machine {
    /// Sends a step that is ready on its way: to the hook, to its gate or into the queue.
    pub(super) fn admit(&mut self, now: Moment, step: StepIndex, out: &mut Vec<Command>) {
        let notes = self.ledger.notes(step);
        // A gate that is open stays so, also where whoever asked for it is gone.
        let is_open = notes.is_some_and(|notes| notes.gate.is_some());
        let asks = self.settings.hook || is_open || self.needs_approval(step);
        let answered = notes.is_some_and(|notes| notes.answer.is_some());
        if !asks || answered {
            return self.enqueue(now, step);
        }
        let request = self.request(step);
        let (approved, gate, hook_asked) = self
            .ledger
            .notes(step)
            .map_or((None, None, false), |notes| (notes.approved, notes.gate, notes.hook_asked));
        let is_approved = approved == Some(request);
        let hook_asked = hook_asked && (is_approved || gate == Some(request));
        let hook_spoke = hook_asked || !self.settings.hook;
        if hook_spoke && is_approved {
            self.enqueue(now, step);
        } else if hook_spoke {
            self.open_gate(now, step, (request, hook_asked), out);
        } else if !self.is_halted() {
            self.requests.insert(request, step);
            self.enter(step, Phase::Hook);
            out.push(Command::AskHook { step, request });
        } else if self.needs_approval(step) && !is_approved {
            self.open_gate(now, step, (request, false), out);
        }
    }

    fn needs_approval(&self, step: StepIndex) -> bool {
        self.plan.step(step).is_some_and(|step| step.requires_approval)
            || self.executor(step).gated
            || self.ledger.row(step).gated
    }

    pub(super) fn request(&self, step: StepIndex) -> RequestId {
        let row = self.ledger.row(step);
        let input = self.ledger.input(step);
        let definition = self.plan.step(step).map(StepDraft::from).map(serde_json::to_value);
        let mut request = TaskRequest::new(input.text)
            .with_metadata("definition", definition.and_then(Result::ok).unwrap_or_default())
            .with_metadata("plan", self.plan.id().as_str())
            .with_metadata("generation", row.generation)
            .with_metadata("attempt", row.attempts.saturating_add(1));
        request.data = input.data;
        RequestId(request.digest())
    }

    /// Surfaces a gate, and asks the provider where the step could start.
    fn open_gate(
        &mut self,
        now: Moment,
        step: StepIndex,
        (request, hook_asked): (RequestId, bool),
        out: &mut Vec<Command>,
    ) {
        let open = self.ledger.notes(step).and_then(|notes| Some((notes.gate?, notes.hook_asked)));
        if open != Some((request, hook_asked)) {
            self.record_of(now, out, step, |step| Record::ApprovalRequired { step, request, hook_asked });
        }
        self.requests.insert(request, step);
        if self.is_halted() {
            self.enter(step, Phase::Gate);
        } else {
            self.enter(step, Phase::Approval);
            out.push(Command::AskApproval { step, request });
        }
    }

    /// The step whose hook or gate this is. A gate is open as long as the ledger has it, also before a run begins, while
    /// nothing new is looked at, and while a hook is asked that came later.
    fn answered(&mut self, request: RequestId, phases: &[Phase]) -> Result<StepIndex, Refusal> {
        let open = self.requests.get(&request).copied().filter(|step| phases.contains(&self.phase(*step)));
        let at_rest = || {
            let rests = |step: StepIndex| {
                phases.contains(&Phase::Gate)
                    && (self.run.is_none() || matches!(self.phase(step), Phase::Idle | Phase::Hook))
            };
            let mut noted = self.ledger.noted().filter(|(_, notes)| notes.gate == Some(request));
            noted.find(|(step, _)| rests(*step)).map(|(step, _)| step)
        };
        let at_rest = open.or_else(at_rest).filter(|step| self.request(*step) == request);
        at_rest.ok_or(Refusal::StaleApproval { request })
    }

    pub(super) fn hook_decided(
        &mut self,
        now: Moment,
        request: RequestId,
        decision: HookDecision,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let step = self.answered(request, &[Phase::Hook])?;
        self.requests.remove(&request);
        self.enter(step, Phase::Idle);
        let is_approved = self.ledger.notes(step).and_then(|notes| notes.approved) == Some(request);
        match decision {
            HookDecision::Allow if !self.needs_approval(step) => self.enqueue(now, step),
            HookDecision::Allow | HookDecision::RequireApproval if is_approved => {
                self.enqueue(now, step);
            }
            HookDecision::Allow | HookDecision::RequireApproval => {
                self.open_gate(now, step, (request, true), out);
            }
            HookDecision::Deny { reason } => self.deny(now, step, reason, out),
        }
        Ok(())
    }

    pub(super) fn approved(
        &mut self,
        now: Moment,
        request: RequestId,
        metadata: Metadata,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let step = self.answered(request, &[Phase::Approval, Phase::Gate])?;
        self.record_of(now, out, step, |step| Record::Approved { step, request, metadata });
        // Where nobody waits for this answer, the step goes on when it is looked at, or when its hook has decided.
        if matches!(self.phase(step), Phase::Approval | Phase::Gate) {
            self.requests.remove(&request);
            self.enter(step, Phase::Idle);
            if self.is_running() {
                self.admit(now, step, out);
            }
        }
        Ok(())
    }

    pub(super) fn denied(
        &mut self,
        now: Moment,
        request: RequestId,
        reason: String,
        out: &mut Vec<Command>,
    ) -> Result<(), Refusal> {
        let step = self.answered(request, &[Phase::Approval, Phase::Gate])?;
        self.requests.remove(&request);
        self.deny(now, step, reason, out);
        Ok(())
    }

    pub(super) fn deferred(&mut self, request: RequestId) -> Result<(), Refusal> {
        let step = self.answered(request, &[Phase::Approval, Phase::Gate])?;
        self.enter(step, Phase::Gate);
        Ok(())
    }

    fn deny(&mut self, now: Moment, step: StepIndex, reason: String, out: &mut Vec<Command>) {
        self.block(now, step, StepError::new(StepErrorCode::Denied, reason), out);
    }
}
