//! A planner with one plan.

use crate::{BoxError, Observation, Plan, PlanDraft, Planner, PlanningRequest};

/// Gives the same plan for whatever is asked, and no other.
///
/// ```
/// use convoke_planning::{PlanDraft, StaticPlanner, StepDraft};
///
/// let planner = StaticPlanner::new(PlanDraft::new("publish").with_step(StepDraft::new("write").titled("Write")));
/// # let _ = planner;
/// ```
#[derive(Clone, Debug)]
pub struct StaticPlanner {
    draft: PlanDraft,
}

impl StaticPlanner {
    /// A planner with this plan. A goal that is asked for replaces the draft's where that is empty.
    pub fn new(draft: PlanDraft) -> Self {
        Self { draft }
    }
}

impl Planner for StaticPlanner {
    async fn create(&self, request: PlanningRequest) -> Result<PlanDraft, BoxError> {
        let mut draft = self.draft.clone();
        if draft.goal.is_empty() {
            draft.goal = request.goal;
        }
        Ok(draft)
    }

    async fn revise(&self, _: Plan, _: Observation) -> Result<PlanDraft, BoxError> {
        Err("planner has one plan alone; take another one for a plan that is revised".into())
    }
}
