//! Plans of work as checked graphs, and their runs: retries, deadlines, approvals, a journal, exact resumption.
//!
//! A person or a model writes a [`PlanDraft`], of which nothing is known; a [`PlanNormalizer`] repairs what can be
//! repaired without a change of meaning; a [`PlanValidator`] makes a [`Plan`] of it, or says everything that is wrong. A
//! [`PlanRunner`] has a [`StepExecutor`] do each step when its own edges are satisfied. What happens is decided by a
//! [`machine`] without I/O and written to a journal, a record for each transition, so that a later run goes on where an
//! earlier one was, whatever ended it.
//!
//! ```
//! use convoke_planning::{FunctionStepExecutor, PlanDraft, PlanRunner, PlanValidator, StepDraft};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let draft = PlanDraft::new("say whether the release can go out")
//!     .with_step(StepDraft::new("tests").titled("Read the test report"))
//!     .with_step(StepDraft::new("style").titled("Look at the style"))
//!     .with_step(StepDraft::new("verdict").titled("Weigh both").input_from("tests").after_end_of("style"));
//! let plan = PlanValidator::default().validate(draft)?;
//!
//! let executor = FunctionStepExecutor::new(|input, ctx| async move {
//!     Ok(format!("{} {}", ctx.step().id, input.text))
//! });
//! let run = PlanRunner::builder().executor(executor).build()?.run_plan(plan).await?;
//! assert_eq!(run.completed, 3);
//! assert_eq!(run.final_text(), r#"verdict {"steps":{"style":"style ","tests":"tests "}}"#);
//! # Ok(())
//! # }
//! ```
//!
//! This crate knows no team, no agent beyond its id, no tool beyond its name, no model and no vote. It keeps nothing but
//! what the journal has, and stops no work that does not stop by itself. The graph library that it uses appears in no
//! signature.
//!
//! | where | what |
//! |---|---|
//! | `draft`, `dependency`, `signals` | what a person or a model writes |
//! | `normalizer`, `validator`, `issue` | from a draft to a plan, or to all that is wrong |
//! | `plan`, `step`, `step_index`, `graph` | the plan, its steps and who waits for whom |
//! | `policy`, `priority` | how a plan may run, and which of the ready steps is first |
//! | `status`, `readiness` | where steps stand, and which are ready |
//! | [`machine`] | what happens to the steps of a run, event by event |
//! | `runner` | the machine with executors, a clock and a journal |
//! | `executor`, `planner`, `approval`, `reflection`, `observer` | the contracts of what a host brings |
//! | `codec`, `diagram` | JSON, and the JSON in a model's answer; Mermaid and DOT |

mod approval;
mod codec;
mod dependency;
mod diagram;
mod draft;
mod executor;
mod graph;
mod issue;
pub mod machine;
mod normalizer;
mod observer;
mod plan;
mod planner;
mod policy;
mod priority;
mod quoted;
mod readiness;
mod reflection;
mod runner;
mod signals;
mod status;
mod step;
mod step_index;
mod validator;

pub use approval::{
    AnyApprovalProvider, AnyPolicyHook, ApprovalDecision, ApprovalProvider, PolicyHook, StepRequest,
};
pub use codec::{CodecError, DEFAULT_MAX_BYTES, FORMAT_VERSION, PlanCodec};
pub use dependency::{Dependency, Edge, Wait};
pub use diagram::Diagram;
pub use draft::{PlanDraft, StepDraft};
pub use executor::{
    AgentStepExecutor, AgentStepExecutorBuilder, AnyStepExecutor, CompositeStepExecutor,
    CompositeStepExecutorBuilder, ExecutorBuildError, FunctionStepExecutor, StepContext, StepExecutor,
    StepOutcome, StillRunning,
};
pub use issue::{InvalidPlan, IssueCode, PlanIssue};
pub use normalizer::{Normalized, PlanNormalizer, Repair, RepairKind};
pub use observer::{PlanEvent, PlanEventKind, PlanObserver};
pub use plan::Plan;
pub use planner::{AnyPlanner, FunctionPlanner, Observation, Planner, PlanningRequest, StaticPlanner};
pub use policy::{Backoff, PlanPolicy, PlanPolicyBuilder, PolicyError, StepLimit};
pub use priority::{Prioritization, PriorityScorer, PriorityWeights, ReadyQueue, ScoreError};
pub use readiness::{Readiness, TransitionError};
pub use reflection::{AnyReflector, Reflector, Review};
pub use runner::{
    BoxError, Fork, PendingStep, PlanError, PlanHandle, PlanProgress, PlanRun, PlanRunner,
    PlanRunnerBuildError, PlanRunnerBuilder, PlanUpdate, PlanUpdates, PlanWork, Progress, RunError,
    RunOptions, StepReport, UnreadableLog,
};
pub use signals::PrioritySignals;
pub use status::StepStatus;
pub use step::PlanStep;
pub use step_index::StepIndex;
pub use validator::{KnownTool, PlanValidator};

/// The programs of the guides to plans, which `cargo test` runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/guides/plans.md")]
    mod plans {}
    #[doc = include_str!("../../../docs/guides/durability-and-resumption.md")]
    mod durability_and_resumption {}
    #[doc = include_str!("../../../docs/guides/approvals.md")]
    mod approvals {}
}
