//! A planner made of functions.

use std::fmt;

use crate::{BoxError, Observation, Plan, PlanDraft, Planner, PlanningRequest};

/// A planner made of an async function that makes a plan, and where one is given, of another that revises it.
///
/// ```
/// use convoke_planning::{FunctionPlanner, PlanDraft, StepDraft};
///
/// let planner = FunctionPlanner::new(|request| async move {
///     Ok(PlanDraft::new(request.goal).with_step(StepDraft::new("write").titled("Write")))
/// })
/// .revising(|plan, observation| async move {
///     let mut draft = plan.to_draft();
///     draft.steps.retain(|step| step.id != observation.step.as_str());
///     Ok(draft)
/// });
/// # let _ = planner;
/// ```
#[derive(Clone)]
pub struct FunctionPlanner<C, R = NoRevision> {
    create: C,
    revise: R,
}

/// Revises nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoRevision;

impl<C, W> FunctionPlanner<C>
where
    C: Fn(PlanningRequest) -> W + Send + Sync + 'static,
    W: Future<Output = Result<PlanDraft, BoxError>> + Send,
{
    /// A planner that revises nothing.
    pub fn new(create: C) -> Self {
        Self { create, revise: NoRevision }
    }

    /// Revises plans too.
    pub fn revising<R, V>(self, revise: R) -> FunctionPlanner<C, R>
    where
        R: Fn(Plan, Observation) -> V + Send + Sync + 'static,
        V: Future<Output = Result<PlanDraft, BoxError>> + Send,
    {
        FunctionPlanner { create: self.create, revise }
    }
}

impl<C, W> Planner for FunctionPlanner<C>
where
    C: Fn(PlanningRequest) -> W + Send + Sync + 'static,
    W: Future<Output = Result<PlanDraft, BoxError>> + Send,
{
    fn create(&self, request: PlanningRequest) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send {
        (self.create)(request)
    }

    async fn revise(&self, _: Plan, _: Observation) -> Result<PlanDraft, BoxError> {
        Err("planner has no function that revises; give it one with `revising`".into())
    }
}

impl<C, W, R, V> Planner for FunctionPlanner<C, R>
where
    C: Fn(PlanningRequest) -> W + Send + Sync + 'static,
    W: Future<Output = Result<PlanDraft, BoxError>> + Send,
    R: Fn(Plan, Observation) -> V + Send + Sync + 'static,
    V: Future<Output = Result<PlanDraft, BoxError>> + Send,
{
    fn create(&self, request: PlanningRequest) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send {
        (self.create)(request)
    }

    fn revise(
        &self,
        plan: Plan,
        observation: Observation,
    ) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send {
        (self.revise)(plan, observation)
    }
}

impl<C, R> fmt::Debug for FunctionPlanner<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionPlanner").finish_non_exhaustive()
    }
}
