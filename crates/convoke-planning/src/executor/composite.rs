//! An executor that leaves steps to others by what they ask for.

use convoke_core::{AgentId, ExecutorError, IdError};

use crate::{
    AnyStepExecutor, PlanStep, StepContext, StepExecutor, StepOutcome,
    machine::{Capabilities, StepInput},
};

/// Leaves each step to one of others: one that names an agent or skills to that for agents, one that names a tool to that
/// for tools, any other to the default. A step for which there is none is blocked.
///
/// ```
/// use convoke_planning::{CompositeStepExecutor, FunctionStepExecutor};
///
/// # fn main() -> Result<(), convoke_planning::ExecutorBuildError> {
/// let executor = CompositeStepExecutor::builder()
///     .agents(FunctionStepExecutor::new(|input, _| async move { Ok(format!("asked about {}", input.text)) }))
///     .otherwise(FunctionStepExecutor::new(|input, _| async move { Ok(input.text) }))
///     .build()?;
/// # let _ = executor;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CompositeStepExecutor {
    routes: CompositeStepExecutorBuilder,
}

/// Makes a [`CompositeStepExecutor`].
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is made before it is built"]
pub struct CompositeStepExecutorBuilder {
    agents: Option<AnyStepExecutor>,
    tools: Option<AnyStepExecutor>,
    otherwise: Option<AnyStepExecutor>,
}

impl CompositeStepExecutor {
    /// Of no executors yet.
    pub fn builder() -> CompositeStepExecutorBuilder {
        CompositeStepExecutorBuilder::default()
    }

    fn route(&self, step: &PlanStep) -> Option<&AnyStepExecutor> {
        if step.agent.is_some() || !step.required_skills.is_empty() {
            self.routes.agents.as_ref()
        } else if step.tool.is_some() {
            self.routes.tools.as_ref()
        } else {
            self.routes.otherwise.as_ref()
        }
    }
}

impl CompositeStepExecutorBuilder {
    /// For steps that name an agent or skills.
    pub fn agents(mut self, executor: impl StepExecutor) -> Self {
        self.agents = Some(AnyStepExecutor::new(executor));
        self
    }

    /// For steps that name a tool.
    pub fn tools(mut self, executor: impl StepExecutor) -> Self {
        self.tools = Some(AnyStepExecutor::new(executor));
        self
    }

    /// For steps that name neither.
    pub fn otherwise(mut self, executor: impl StepExecutor) -> Self {
        self.otherwise = Some(AnyStepExecutor::new(executor));
        self
    }

    /// Makes it.
    ///
    /// # Errors
    ///
    /// [`ExecutorBuildError::Missing`] where there is no executor at all.
    pub fn build(self) -> Result<CompositeStepExecutor, ExecutorBuildError> {
        if self.agents.is_none() && self.tools.is_none() && self.otherwise.is_none() {
            return Err(ExecutorBuildError::Missing { what: "an executor" });
        }
        Ok(CompositeStepExecutor { routes: self })
    }
}

impl StepExecutor for CompositeStepExecutor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        self.route(step)?.capabilities(step)
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        match self.route(ctx.step()) {
            Some(executor) => executor.begin(input, ctx).await,
            None => Ok(StepOutcome::blocked("no executor is there for such steps; add one")),
        }
    }
}

/// Why an executor cannot be made of others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorBuildError {
    /// It has nothing to leave work to.
    #[error("executor has nobody to leave work to; give it {what}")]
    Missing {
        /// What it lacks.
        what: &'static str,
    },
    /// An agent has no valid id.
    #[error("agent of a step executor has no valid id; give it one")]
    InvalidAgent(#[source] IdError),
    /// An agent came twice.
    #[error("agent `{agent}` has two step executors; keep one")]
    DuplicateAgent {
        /// The agent.
        agent: AgentId,
    },
}
