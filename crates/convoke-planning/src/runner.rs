//! Runs plans: the plan machine with executors, a clock and a journal.

mod builder;
mod clock;
mod driver;
mod error;
mod handle;
mod live;
mod log;
mod opening;
mod options;
mod report;
mod shared;
mod signal;
mod stored;
mod writer;

pub use builder::{PlanRunnerBuildError, PlanRunnerBuilder};
pub use error::{BoxError, PlanError, UnreadableLog};
pub use handle::PlanHandle;
pub use options::{PlanWork, RunOptions};
pub use report::{PendingStep, PlanProgress, PlanRun, RunError, StepReport};
pub use shared::{PlanUpdate, PlanUpdates, Progress};
pub use stored::Fork;

pub(crate) use shared::RunShared;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use convoke_core::{AgentId, AnyJournal, OwnerId, PlanId};
use convoke_observability::{AnySink, EventIds, drop_isolated};

use crate::{
    AnyApprovalProvider, AnyPlanner, AnyPolicyHook, AnyReflector, AnyStepExecutor, KnownTool, Plan,
    PlanDraft, PlanNormalizer, PlanPolicy, PlanStep, PlanValidator, PlanningRequest, PriorityScorer,
    StepExecutor as _,
    machine::{Capabilities, Durability},
    observer::AnyObserver,
};

use clock::WallClock;

/// Runs plans. Cloning shares it; it keeps nothing of the plans that it ran but what the journal has.
///
/// ```
/// use convoke_planning::{FunctionStepExecutor, PlanDraft, PlanRunner, PlanValidator, StepDraft};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let draft = PlanDraft::new("publish")
///     .with_step(StepDraft::new("write").titled("Write"))
///     .with_step(StepDraft::new("check").titled("Read again").input_from("write"));
/// let runner = PlanRunner::builder()
///     .executor(FunctionStepExecutor::new(|_, ctx| async move { Ok(format!("did {}", ctx.step().id)) }))
///     .build()?;
///
/// let run = runner.run_plan(PlanValidator::default().validate(draft)?).await?;
/// assert_eq!(run.stop, convoke_planning::machine::StopReason::Completed);
/// assert_eq!(run.final_text(), "did check");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PlanRunner(Arc<Settings>);

pub(crate) struct Settings {
    policy: PlanPolicy,
    executor: AnyStepExecutor,
    planner: Option<AnyPlanner>,
    hook: Option<AnyPolicyHook>,
    provider: Option<AnyApprovalProvider>,
    reflector: Option<AnyReflector>,
    scorer: Option<Arc<dyn PriorityScorer>>,
    journal: Option<AnyJournal>,
    durability: Durability,
    owner: OwnerId,
    claim_ttl: Duration,
    observers: Vec<AnyObserver>,
    sink: Option<(AnySink, EventIds)>,
    tools: Vec<KnownTool>,
    agents: Vec<AgentId>,
    validator: PlanValidator,
    normalizer: Option<PlanNormalizer>,
    wall: WallClock,
    seed: u64,
}

impl Settings {
    /// What the executor says of each step.
    fn capabilities(&self, plan: &Plan) -> Vec<Option<Capabilities>> {
        plan.steps().iter().map(|step| capabilities(&self.executor, step)).collect()
    }

    fn normalized(&self, draft: PlanDraft) -> PlanDraft {
        match &self.normalizer {
            Some(normalizer) => normalizer.normalize(draft).draft,
            None => draft,
        }
    }
}

/// What an executor says of a step; a panic says that it does not take it.
fn capabilities(executor: &AnyStepExecutor, step: &PlanStep) -> Option<Capabilities> {
    catch_unwind(AssertUnwindSafe(|| executor.capabilities(step))).unwrap_or_else(|payload| {
        drop_isolated(payload);
        None
    })
}

impl PlanRunner {
    fn new(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }

    /// A runner needs an executor; all else is optional.
    pub fn builder() -> PlanRunnerBuilder {
        PlanRunnerBuilder::default()
    }

    /// Has the planner make a plan for a goal, and runs it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the run, as [`RunOptions::cancellation`] does; the run ends in the background within
    /// the grace of the policy, and what its journal takes to answer.
    ///
    /// # Errors
    ///
    /// [`PlanError`] where the run did not begin. How it ended is in the [`PlanRun`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, as all that runs.
    pub async fn run(&self, goal: impl Into<PlanningRequest>) -> Result<PlanRun, PlanError> {
        self.run_with(goal, RunOptions::new()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub async fn run_with(
        &self,
        goal: impl Into<PlanningRequest>,
        options: RunOptions,
    ) -> Result<PlanRun, PlanError> {
        self.start(goal.into(), options).waited_for().await
    }

    /// Runs a plan from its beginning.
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// [`PlanError`], [`BegunBefore`](PlanError::BegunBefore) where the journal has a plan of this id.
    pub async fn run_plan(&self, plan: Plan) -> Result<PlanRun, PlanError> {
        self.run_plan_with(plan, RunOptions::new()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    ///
    /// As for [`run_plan`](Self::run_plan).
    pub async fn run_plan_with(&self, plan: Plan, options: RunOptions) -> Result<PlanRun, PlanError> {
        self.start(plan, options).waited_for().await
    }

    /// Goes on with a plan that the journal has: steps that were interrupted run again, under their attempt and key;
    /// completed ones never do; failed ones stay failed unless [`RunOptions::retrying_failed`] says otherwise.
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// [`PlanError`], [`Claimed`](PlanError::Claimed) where another runner has the plan.
    pub async fn resume(&self, plan: &PlanId) -> Result<PlanRun, PlanError> {
        self.resume_with(plan, RunOptions::new()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    ///
    /// As for [`resume`](Self::resume).
    pub async fn resume_with(&self, plan: &PlanId, options: RunOptions) -> Result<PlanRun, PlanError> {
        self.start(PlanWork::Stored(plan.clone()), options).waited_for().await
    }

    /// Begins work on a goal, a plan or a stored plan, in a task of its own.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(&self, work: impl Into<PlanWork>, options: RunOptions) -> PlanHandle {
        PlanHandle::start(Arc::clone(&self.0), work.into(), options)
    }
}

impl fmt::Debug for PlanRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanRunner")
            .field("policy", &self.0.policy)
            .field("journal", &self.0.journal)
            .field("durability", &self.0.durability)
            .finish_non_exhaustive()
    }
}
