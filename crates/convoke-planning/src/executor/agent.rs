//! An executor that has one for each agent.

use std::collections::HashMap;

use convoke_core::{AgentId, ExecutorError, IdError};

use crate::{
    AnyStepExecutor, ExecutorBuildError, PlanStep, StepContext, StepExecutor, StepOutcome,
    machine::{Capabilities, StepInput},
};

/// Has an executor for each agent that a step may be given to; takes no step without an agent, or of another.
///
/// ```
/// use convoke_planning::{AgentStepExecutor, FunctionStepExecutor};
///
/// # fn main() -> Result<(), convoke_planning::ExecutorBuildError> {
/// let agents = AgentStepExecutor::builder()
///     .agent("writer", FunctionStepExecutor::new(|input, _| async move { Ok(format!("about {}", input.text)) }))
///     .agent("reader", FunctionStepExecutor::new(|input, _| async move { Ok(input.text) }))
///     .build()?;
/// # let _ = agents;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AgentStepExecutor {
    agents: HashMap<AgentId, AnyStepExecutor>,
}

/// Makes an [`AgentStepExecutor`]; it keeps the first thing that is wrong until it is built.
#[derive(Debug, Default)]
#[must_use = "nothing is made before it is built"]
pub struct AgentStepExecutorBuilder {
    agents: HashMap<AgentId, AnyStepExecutor>,
    error: Option<ExecutorBuildError>,
}

impl AgentStepExecutor {
    /// Of no agents yet.
    pub fn builder() -> AgentStepExecutorBuilder {
        AgentStepExecutorBuilder::default()
    }
}

impl AgentStepExecutorBuilder {
    /// Adds an agent.
    pub fn agent<I>(mut self, id: I, executor: impl StepExecutor) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        let added = id.try_into().map_err(|error| ExecutorBuildError::InvalidAgent(error.into()));
        let added = added.and_then(|id| {
            if self.agents.contains_key(&id) {
                return Err(ExecutorBuildError::DuplicateAgent { agent: id });
            }
            self.agents.insert(id, AnyStepExecutor::new(executor));
            Ok(())
        });
        if let Err(error) = added {
            self.error.get_or_insert(error);
        }
        self
    }

    /// Makes it.
    ///
    /// # Errors
    ///
    /// [`ExecutorBuildError`] where an id is none, an agent came twice, or there is none.
    pub fn build(self) -> Result<AgentStepExecutor, ExecutorBuildError> {
        match self.error {
            Some(error) => Err(error),
            None if self.agents.is_empty() => Err(ExecutorBuildError::Missing { what: "an agent" }),
            None => Ok(AgentStepExecutor { agents: self.agents }),
        }
    }
}

impl StepExecutor for AgentStepExecutor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        self.agents.get(step.agent.as_ref()?)?.capabilities(step)
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        let agent = ctx.step().agent.as_ref().and_then(|agent| self.agents.get(agent));
        match agent {
            Some(executor) => executor.begin(input, ctx).await,
            None => Ok(StepOutcome::blocked("no executor is there for the agent of the step; add one")),
        }
    }
}
