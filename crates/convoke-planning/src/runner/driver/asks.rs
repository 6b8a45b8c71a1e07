//! What is asked of hooks, providers, reflectors and planners.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use convoke_core::TaskOutput;
use convoke_observability::panic_detail;
use futures_util::FutureExt as _;
use tokio::task::AbortHandle;

use crate::{
    ApprovalDecision, ApprovalProvider as _, BoxError, Observation, PlanDraft, Planner as _, PolicyHook as _,
    Reflector as _, Review, StepIndex, StepRequest,
    machine::{Event, Finding, HookDecision, Moment, PendingKind, RequestId},
    runner::driver::{Driver, Told},
};

/// What somebody else's future comes to, a panic as an error.
async fn answer<T>(asked: impl Future<Output = Result<T, BoxError>>) -> Result<T, String> {
    // What the error says of itself, and its destructor, are somebody else's too.
    let said = async { asked.await.map_err(|error| convoke_core::error_chain(&*error)) };
    match AssertUnwindSafe(said).catch_unwind().await {
        Ok(answer) => answer,
        Err(payload) => Err(match panic_detail(payload) {
            Some(detail) => format!("panicked: {detail}"),
            None => "panicked".to_owned(),
        }),
    }
}

impl Driver {
    fn request(&self, index: StepIndex, id: RequestId) -> StepRequest {
        StepRequest {
            plan: self.machine.plan().clone(),
            index,
            id,
            input: self.machine.input(index),
            attempt: self.machine.attempts(index).saturating_add(1),
        }
    }

    /// Asks in a task of its own, which tells what came of it.
    fn ask(&mut self, asked: impl Future<Output = Told> + Send + 'static) -> AbortHandle {
        let teller = self.inbox.teller().clone();
        self.asks.spawn(self.scope.wrap(async move {
            let _ = teller.tell(asked.await);
        }))
    }

    pub(super) fn ask_hook(&mut self, step: StepIndex, id: RequestId) {
        let request = self.request(step, id);
        let (hook, may_ask) = (self.settings.hook.clone(), Arc::clone(&self.may_ask));
        self.ask(async move {
            let _place = may_ask.acquire_owned().await;
            let decision = match hook {
                Some(hook) => answer(async { hook.decide(request).await }).await,
                None => Ok(HookDecision::Allow),
            };
            let decision = decision.unwrap_or_else(|reason| HookDecision::Deny {
                reason: format!("policy hook gave no decision: {reason}"),
            });
            Told::Event(Event::HookDecided { request: id, decision })
        });
    }

    pub(super) fn ask_approval(&mut self, step: StepIndex, id: RequestId) {
        let Some(provider) = self.settings.provider.clone() else {
            self.came.push_back(Told::Event(Event::Deferred { request: id }));
            return;
        };
        let request = self.request(step, id);
        let may_ask = Arc::clone(&self.may_ask_people);
        let asked = self.ask(async move {
            let _place = may_ask.acquire_owned().await;
            Told::Event(match answer(async { provider.ask(request).await }).await {
                Ok(ApprovalDecision::Approve(metadata)) => Event::Approved { request: id, metadata },
                Ok(ApprovalDecision::Deny(reason)) => Event::Denied { request: id, reason },
                Ok(ApprovalDecision::Later) | Err(_) => Event::Deferred { request: id },
            })
        });
        self.asked_people.insert(id, asked);
    }

    pub(super) fn ask_reflector(&mut self, index: StepIndex, start: u64, output: Arc<TaskOutput>) {
        let Some(reflector) = self.settings.reflector.clone() else {
            self.came.push_back(Told::Event(Event::Reviewed { start, finding: Finding::Pass }));
            return;
        };
        let attempt = self.machine.attempts(index);
        let review = Review { plan: self.machine.plan().clone(), index, attempt, output };
        self.ask(async move {
            let finding = answer(async { reflector.review(review).await }).await;
            let finding = finding
                .unwrap_or_else(|reason| Finding::Block(format!("reflector gave no finding: {reason}")));
            Told::Event(Event::Reviewed { start, finding })
        });
    }

    pub(super) fn ask_planner(&mut self, step: StepIndex, refused: Option<String>) {
        let id = self.machine.plan().step(step).map(|step| step.id.clone());
        let (Some(planner), Some(id)) = (self.settings.planner.clone(), id) else {
            self.came.push_back(Told::Revision(Err("runner has no planner; give it one".to_owned())));
            return;
        };
        let plan = self.machine.plan().clone();
        let observation = Observation::new(&self.machine, id, refused);
        self.ask(
            async move { Told::Revision(answer(async { planner.revise(plan, observation).await }).await) },
        );
    }

    /// The planner has answered.
    pub(super) fn revision(&mut self, now: Moment, draft: Result<PlanDraft, String>) {
        let event = match draft.map(|draft| {
            let draft = self.settings.normalized(draft);
            self.settings.validator.validate_revision(self.machine.plan(), draft)
        }) {
            Ok(Ok(plan)) => {
                let executors = self.settings.capabilities(&plan);
                Event::RevisionReady { plan, executors }
            }
            Ok(Err(invalid)) => Event::RevisionRefused { reason: convoke_core::error_chain(&invalid) },
            Err(reason) => Event::RevisionFailed { reason },
        };
        let _ = self.handle(now, event);
        self.surroundings = None;
        self.ask_no_more();
    }

    /// Leaves off asking people about what a revision has changed or taken out.
    fn ask_no_more(&mut self) {
        let open: HashSet<RequestId> = self
            .machine
            .pending()
            .filter_map(|pending| match pending.kind {
                PendingKind::Approval { request } => Some(request),
                PendingKind::Question { .. } => None,
            })
            .collect();
        self.asked_people.retain(|request, asked| {
            let is_open = open.contains(request);
            if !is_open {
                asked.abort();
            }
            is_open
        });
    }
}
