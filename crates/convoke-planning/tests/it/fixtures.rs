//! Plans in few words.

use convoke_planning::{IssueCode, Plan, PlanDraft, PlanPolicy, PlanValidator, StepDraft, StepIndex};

/// A step that would be no empty one.
pub(crate) fn step(id: impl Into<String>) -> StepDraft {
    StepDraft::new(id).titled("x")
}

pub(crate) fn draft(steps: impl IntoIterator<Item = StepDraft>) -> PlanDraft {
    PlanDraft::new("goal").with_id("plan").with_steps(steps)
}

pub(crate) fn plan(steps: impl IntoIterator<Item = StepDraft>) -> Plan {
    PlanValidator::default().validate(draft(steps)).unwrap()
}

/// A policy that lets any plan of a test pass.
pub(crate) fn large() -> PlanPolicy {
    PlanPolicy::builder().max_steps(2_000_000).build().unwrap()
}

pub(crate) fn at(plan: &Plan, id: &str) -> StepIndex {
    plan.index_of(id).unwrap()
}

pub(crate) fn id(plan: &Plan, step: StepIndex) -> &str {
    plan.step(step).unwrap().id.as_str()
}

/// The codes of all that is wrong, each with the id of its step.
pub(crate) fn wrong(validator: &PlanValidator, draft: PlanDraft) -> Vec<(IssueCode, Option<String>)> {
    let refusal = validator.validate(draft).unwrap_err();
    refusal.issues().iter().map(|issue| (issue.code, issue.step.clone())).collect()
}
