//! Who makes plans, and other plans when one does not work.

mod fixed;
mod function;
mod observation;

pub use fixed::StaticPlanner;
pub use function::FunctionPlanner;
pub use observation::Observation;

use std::{fmt, pin::Pin, sync::Arc};

use convoke_core::AgentId;

use crate::{BoxError, KnownTool, Plan, PlanDraft, PlanPolicy};

/// What a plan is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanningRequest {
    /// What is to be reached.
    pub goal: String,
    /// What else is worth knowing.
    pub context: String,
    /// The tools that a step may use; those of the runner unless set.
    pub tools: Vec<KnownTool>,
    /// The agents that a step may be given to; those of the runner unless set.
    pub agents: Vec<AgentId>,
    /// How the plan will run; that of the runner.
    pub policy: PlanPolicy,
}

impl PlanningRequest {
    /// A goal.
    pub fn new(goal: impl Into<String>) -> Self {
        Self {
            goal: goal.into(),
            context: String::new(),
            tools: Vec::new(),
            agents: Vec::new(),
            policy: PlanPolicy::default(),
        }
    }

    /// Adds what else is worth knowing.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }
}

impl From<&str> for PlanningRequest {
    fn from(goal: &str) -> Self {
        Self::new(goal)
    }
}

impl From<String> for PlanningRequest {
    fn from(goal: String) -> Self {
        Self::new(goal)
    }
}

/// Makes plans, and other plans when one does not work. What it gives are drafts: the runner checks them, so that nothing
/// runs of a plan that has an error.
///
/// # Contract
///
/// `revise` is asked about each step that failed or is blocked at most once, and once more where its draft does not fit
/// what has happened meanwhile; nothing new starts before it answers. Completed, running and detached steps must stay as
/// they are, and no step may lose its gate.
///
/// # Cancel safety
///
/// The futures are dropped where the run ends.
///
/// # Errors
///
/// An error of `create` is the answer to whoever asked for the run. After one of `revise` the step's end stands.
///
/// # Panics
///
/// The same as an error.
pub trait Planner: Send + Sync + 'static {
    /// Makes a plan.
    fn create(&self, request: PlanningRequest) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send;

    /// Makes the next revision of a plan, because of what a step came to.
    fn revise(
        &self,
        plan: Plan,
        observation: Observation,
    ) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send;
}

/// Any [`Planner`] as one type. Cloning shares it.
#[derive(Clone)]
pub struct AnyPlanner(Arc<dyn Erased>);

impl AnyPlanner {
    /// Wraps one.
    pub fn new(planner: impl Planner) -> Self {
        Self(Arc::new(planner))
    }
}

impl Planner for AnyPlanner {
    fn create(&self, request: PlanningRequest) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send {
        Arc::clone(&self.0).create_boxed(request)
    }

    fn revise(
        &self,
        plan: Plan,
        observation: Observation,
    ) -> impl Future<Output = Result<PlanDraft, BoxError>> + Send {
        Arc::clone(&self.0).revise_boxed(plan, observation)
    }
}

impl fmt::Debug for AnyPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyPlanner").finish_non_exhaustive()
    }
}

type Planned = Pin<Box<dyn Future<Output = Result<PlanDraft, BoxError>> + Send>>;

trait Erased: Send + Sync {
    fn create_boxed(self: Arc<Self>, request: PlanningRequest) -> Planned;
    fn revise_boxed(self: Arc<Self>, plan: Plan, observation: Observation) -> Planned;
}

impl<P: Planner> Erased for P {
    fn create_boxed(self: Arc<Self>, request: PlanningRequest) -> Planned {
        Box::pin(async move { self.create(request).await })
    }

    fn revise_boxed(self: Arc<Self>, plan: Plan, observation: Observation) -> Planned {
        Box::pin(async move { self.revise(plan, observation).await })
    }
}
