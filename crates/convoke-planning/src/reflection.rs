//! Who looks at outputs before steps are completed.

use std::{fmt, pin::Pin, sync::Arc};

use convoke_core::TaskOutput;

use crate::{BoxError, Plan, PlanStep, StepIndex, machine::Finding};

/// The output of a step that is to be looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Review {
    pub(crate) plan: Plan,
    pub(crate) index: StepIndex,
    /// The attempt, from 1.
    pub attempt: u32,
    /// What came out.
    pub output: Arc<TaskOutput>,
}

impl Review {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The step.
    pub fn step(&self) -> &PlanStep {
        self.plan.own_step(self.index)
    }

    /// Where the step is in the plan.
    pub fn index(&self) -> StepIndex {
        self.index
    }
}

/// Looks at the output of each step before the step is completed.
///
/// # Contract
///
/// It may be asked about one output twice: after an interruption between the end of the work and the finding.
///
/// # Cancel safety
///
/// The future is dropped where the run ends; a later run asks again.
///
/// # Errors
///
/// An error blocks the step, with the error as the reason: an output that nobody looked at does not pass.
///
/// # Panics
///
/// The same as an error.
pub trait Reflector: Send + Sync + 'static {
    /// Looks at an output.
    fn review(&self, review: Review) -> impl Future<Output = Result<Finding, BoxError>> + Send;
}

impl<F, W> Reflector for F
where
    F: Fn(Review) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Finding, BoxError>> + Send,
{
    fn review(&self, review: Review) -> impl Future<Output = Result<Finding, BoxError>> + Send {
        self(review)
    }
}

/// Any [`Reflector`] as one type. Cloning shares it.
#[derive(Clone)]
pub struct AnyReflector(Arc<dyn Erased>);

impl AnyReflector {
    /// Wraps one.
    pub fn new(reflector: impl Reflector) -> Self {
        Self(Arc::new(reflector))
    }
}

impl Reflector for AnyReflector {
    fn review(&self, review: Review) -> impl Future<Output = Result<Finding, BoxError>> + Send {
        Arc::clone(&self.0).boxed(review)
    }
}

impl fmt::Debug for AnyReflector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyReflector").finish_non_exhaustive()
    }
}

type Reviewed = Pin<Box<dyn Future<Output = Result<Finding, BoxError>> + Send>>;

trait Erased: Send + Sync {
    fn boxed(self: Arc<Self>, review: Review) -> Reviewed;
}

impl<R: Reflector> Erased for R {
    fn boxed(self: Arc<Self>, review: Review) -> Reviewed {
        Box::pin(async move { self.review(review).await })
    }
}
