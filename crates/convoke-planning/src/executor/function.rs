//! An executor made of a function.

use std::fmt;

use convoke_core::ExecutorError;

use crate::{
    PlanStep, StepContext, StepExecutor, StepOutcome,
    machine::{Capabilities, StepInput},
};

/// An executor made of an async function of a step's input and its context. It takes every step, with the same
/// capabilities: the usual ones unless set.
///
/// The function returns an outcome, an output, or just a text:
///
/// ```
/// use convoke_planning::FunctionStepExecutor;
///
/// let echo = FunctionStepExecutor::new(|input, _ctx| async move { Ok(input.text) });
/// # let _ = echo;
/// ```
#[derive(Clone)]
pub struct FunctionStepExecutor<F> {
    function: F,
    capabilities: Capabilities,
}

impl<F, W, O> FunctionStepExecutor<F>
where
    F: Fn(StepInput, StepContext) -> W + Send + Sync + 'static,
    W: Future<Output = Result<O, ExecutorError>> + Send,
    O: Into<StepOutcome>,
{
    /// Wraps a function.
    pub fn new(function: F) -> Self {
        Self { function, capabilities: Capabilities::new() }
    }

    /// Says what the function can and will do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }
}

impl<F, W, O> StepExecutor for FunctionStepExecutor<F>
where
    F: Fn(StepInput, StepContext) -> W + Send + Sync + 'static,
    W: Future<Output = Result<O, ExecutorError>> + Send,
    O: Into<StepOutcome>,
{
    fn capabilities(&self, _: &PlanStep) -> Option<Capabilities> {
        Some(self.capabilities.clone())
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        (self.function)(input, ctx).await.map(Into::into)
    }
}

impl<F> fmt::Debug for FunctionStepExecutor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionStepExecutor")
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}
