//! From a draft to a plan, or to everything that is wrong with it.

mod catalogue;
mod check;
mod ids;
mod links;

pub use catalogue::KnownTool;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use convoke_core::{AgentId, PlanId};

use crate::{InvalidPlan, IssueCode, Plan, PlanDraft, PlanPolicy, plan::Content};

use check::Check;

/// Makes plans of drafts, and refuses drafts with all that is wrong with them.
///
/// Tools and agents are looked up only where it was told of them; told of none at all, it knows none. It takes time
/// and memory with the size of the draft, and none of the stack.
///
/// ```
/// use convoke_planning::{IssueCode, KnownTool, PlanDraft, PlanValidator, StepDraft};
///
/// let validator = PlanValidator::default().with_tools([KnownTool::new("search")]);
/// let draft = PlanDraft::new("find the cause")
///     .with_step(StepDraft::new("look").with_tool("search").with_input("where is it"))
///     .with_step(StepDraft::new("tell").titled("Tell").after("lok"));
/// let refusal = validator.validate(draft).unwrap_err();
/// let codes: Vec<_> = refusal.issues().iter().map(|issue| issue.code).collect();
/// assert_eq!(codes, [IssueCode::InvalidToolInput, IssueCode::UnknownDependency]);
/// ```
#[derive(Clone, Debug)]
pub struct PlanValidator {
    max_steps: u32,
    tools: Option<HashMap<Arc<str>, KnownTool>>,
    agents: Option<HashSet<AgentId>>,
}

impl PlanValidator {
    /// A validator that takes as many steps as the policy says, and any tool and agent.
    pub fn new(policy: &PlanPolicy) -> Self {
        Self { max_steps: policy.max_steps(), tools: None, agents: None }
    }

    /// Names all the tools that a step may use.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = KnownTool>) -> Self {
        let tools = tools.into_iter().map(|tool| (tool.shared_name(), tool));
        self.tools.get_or_insert_default().extend(tools);
        self
    }

    /// Names all the agents that a step may ask for.
    #[must_use]
    pub fn with_agents(mut self, agents: impl IntoIterator<Item = AgentId>) -> Self {
        self.agents.get_or_insert_default().extend(agents);
        self
    }

    /// Makes a plan of a draft, as its revision 0.
    ///
    /// # Errors
    ///
    /// [`InvalidPlan`] has all that is wrong with it.
    pub fn validate(&self, draft: PlanDraft) -> Result<Plan, InvalidPlan> {
        self.check(draft, None, 0)
    }

    /// Makes the next revision of a plan of a draft. The plan's id stays; the draft's is not read. What has become of the
    /// steps meanwhile, and what of them may change, is the run's to say.
    ///
    /// # Errors
    ///
    /// [`InvalidPlan`] has all that is wrong with it.
    pub fn validate_revision(&self, plan: &Plan, draft: PlanDraft) -> Result<Plan, InvalidPlan> {
        self.check(draft, Some(plan.id().clone()), plan.revision().saturating_add(1))
    }

    pub(crate) fn check(
        &self,
        draft: PlanDraft,
        id: Option<PlanId>,
        revision: u64,
    ) -> Result<Plan, InvalidPlan> {
        let mut check = Check::new(self);
        let id = id.or_else(|| check.plan_id(draft.id.as_deref()));
        check.goal(&draft.goal);
        let steps = check.steps(draft.steps);
        match (id, steps, check.into_issues()) {
            (Some(id), Some((steps, positions, graph)), issues) if issues.is_empty() => {
                Ok(Plan::new(Content {
                    id,
                    goal: draft.goal,
                    revision,
                    steps,
                    artifacts: draft.artifacts,
                    metadata: draft.metadata,
                    positions,
                    graph,
                }))
            }
            (.., issues) => Err(InvalidPlan::new(issues)),
        }
    }
}

/// Of the default policy.
impl Default for PlanValidator {
    fn default() -> Self {
        Self::new(&PlanPolicy::default())
    }
}

impl Check<'_> {
    fn plan_id(&mut self, text: Option<&str>) -> Option<PlanId> {
        let Some(text) = text else { return Some(PlanId::random()) };
        PlanId::new(text).map_err(|error| self.of_plan(IssueCode::InvalidId, error.to_string())).ok()
    }

    fn goal(&mut self, goal: &str) {
        if goal.trim().is_empty() {
            self.of_plan(IssueCode::MissingGoal, "plan has no goal; say what it is for".into());
        }
    }
}
