//! The contract of what does the work of steps.

mod agent;
mod composite;
mod context;
mod function;
mod outcome;

pub use agent::{AgentStepExecutor, AgentStepExecutorBuilder};
pub use composite::{CompositeStepExecutor, CompositeStepExecutorBuilder, ExecutorBuildError};
pub use context::StepContext;
pub(crate) use context::Surroundings;
pub use function::FunctionStepExecutor;
pub use outcome::{StepOutcome, StillRunning};

pub(crate) use outcome::settled;

use std::{fmt, pin::Pin, sync::Arc};

use convoke_core::ExecutorError;

use crate::{
    PlanStep,
    machine::{Capabilities, StepInput},
};

/// Does the work of steps. [`FunctionStepExecutor`] makes one of a closure; [`AnyStepExecutor`] holds any.
///
/// ```
/// use convoke_core::ExecutorError;
/// use convoke_planning::{
///     PlanStep, StepContext, StepExecutor, StepOutcome,
///     machine::{Capabilities, StepInput},
/// };
///
/// /// Counts words; takes steps that have an input.
/// struct Counter;
///
/// impl StepExecutor for Counter {
///     fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
///         (!step.input.is_empty() || !step.input_from.is_empty()).then(|| Capabilities::new().inline())
///     }
///
///     async fn execute(&self, input: StepInput, _: StepContext) -> Result<StepOutcome, ExecutorError> {
///         Ok(input.text.split_whitespace().count().to_string().into())
///     }
/// }
/// ```
///
/// # Contract
///
/// - `capabilities` is asked about each step once when a run begins, and again at each revision of the plan; it must not
///   block. `None` says that this executor does not take the step.
/// - `execute` is called once per attempt. After an interruption the same attempt is called again, under the same
///   [`idempotency_key`](StepContext::idempotency_key): an effect belongs under that key, or the step is a
///   [`SideEffect`](crate::machine::Effects::SideEffect).
/// - [`StepContext::cancellation`] is signalled when the step's time is over, or the run ends. What comes back within the
///   grace of the policy is heard; after that the work is detached: it keeps its place and its turn until it ends.
/// - The work is this future: what it has spawned has to end before it does, or be given back as [`StillRunning`].
/// - A future that is [`Inline`](crate::machine::Placement::Inline) is polled by the runner itself: it must be short and
///   must never block.
///
/// # Cancel safety
///
/// The future is dropped midway only where the tokio runtime ends.
///
/// # Errors
///
/// An error fails the attempt. Its text is in the record of the step and in the report of the run, and in no event.
///
/// # Panics
///
/// A panic fails the attempt with `executor_panicked`, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no step executor",
    note = "wrap a function with `FunctionStepExecutor::new`, or a choice made at run time with `AnyStepExecutor::new`"
)]
pub trait StepExecutor: Send + Sync + 'static {
    /// What the executor can and will do with this step; `None` where it does not take it, as which a panic counts.
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities>;

    /// Does the work of one attempt.
    fn execute(
        &self,
        input: StepInput,
        ctx: StepContext,
    ) -> impl Future<Output = Result<StepOutcome, ExecutorError>> + Send;
}

/// Any [`StepExecutor`] as one type, for maps and for choices made at run time. Cloning shares it.
#[derive(Clone)]
pub struct AnyStepExecutor(Arc<dyn Erased>);

impl AnyStepExecutor {
    /// Wraps an executor.
    pub fn new(executor: impl StepExecutor) -> Self {
        Self(Arc::new(executor))
    }

    /// The work of one attempt, which keeps what it needs of the executor.
    pub(crate) fn begin(&self, input: StepInput, ctx: StepContext) -> Executed {
        Arc::clone(&self.0).execute_boxed(input, ctx)
    }
}

impl StepExecutor for AnyStepExecutor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        self.0.capabilities_of(step)
    }

    fn execute(
        &self,
        input: StepInput,
        ctx: StepContext,
    ) -> impl Future<Output = Result<StepOutcome, ExecutorError>> + Send {
        self.begin(input, ctx)
    }
}

impl fmt::Debug for AnyStepExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyStepExecutor").finish_non_exhaustive()
    }
}

pub(crate) type Executed = Pin<Box<dyn Future<Output = Result<StepOutcome, ExecutorError>> + Send>>;

trait Erased: Send + Sync {
    fn capabilities_of(&self, step: &PlanStep) -> Option<Capabilities>;
    fn execute_boxed(self: Arc<Self>, input: StepInput, ctx: StepContext) -> Executed;
}

impl<E: StepExecutor> Erased for E {
    fn capabilities_of(&self, step: &PlanStep) -> Option<Capabilities> {
        self.capabilities(step)
    }

    fn execute_boxed(self: Arc<Self>, input: StepInput, ctx: StepContext) -> Executed {
        Box::pin(async move { self.execute(input, ctx).await })
    }
}
