//! Plans of work as values: checked graphs of steps, their repair, their JSON, their order and their pictures.
//!
//! A person or a model writes a [`PlanDraft`], of which nothing is known; a [`PlanNormalizer`] repairs what can be
//! repaired without a change of meaning; a [`PlanValidator`] makes a [`Plan`] of it, or says everything that is wrong. A
//! plan says what is to be done and after what, and nothing of how far that is: where each step stands is in a
//! [`Readiness`], a table by [`StepIndex`], and which of the ready steps is first is in a [`ReadyQueue`].
//!
//! ```
//! use convoke_planning::{
//!     PlanDraft, PlanValidator, PrioritySignals, Prioritization, Readiness, ReadyQueue, StepDraft, StepStatus,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let draft = PlanDraft::new("say whether the release can go out")
//!     .with_step(StepDraft::new("style").titled("Look at the style"))
//!     .with_step(StepDraft::new("tests").titled("Read the test report").with_signals(PrioritySignals::new().with_urgency(2.0)))
//!     .with_step(StepDraft::new("verdict").titled("Weigh both").input_from("tests").after_end_of("style"));
//! let plan = PlanValidator::default().validate(draft)?;
//!
//! let mut standing = Readiness::new(&plan);
//! let mut ready = ReadyQueue::new(&plan, Prioritization::default());
//! for step in plan.indices().filter(|step| standing.is_ready(*step)) {
//!     ready.push(&plan, step, 0)?;
//! }
//! let mut order = Vec::new();
//! while let Some(step) = ready.pop(0) {
//!     standing.set(&plan, step, StepStatus::Running)?;
//!     order.push(plan.step(step).map(|step| step.id.as_str()));
//!     standing.set(&plan, step, StepStatus::Completed)?;
//!     for edge in plan.dependents(step).filter(|edge| standing.is_ready(edge.step)) {
//!         ready.push(&plan, edge.step, 0)?;
//!     }
//! }
//! assert_eq!(order, [Some("tests"), Some("style"), Some("verdict")]);
//! # Ok(())
//! # }
//! ```
//!
//! This crate knows no team, no agent beyond its id, no tool beyond its name, and no vote. It runs nothing, does no I/O
//! and reads no clock. The graph library that it uses appears in no signature.
//!
//! | where | what |
//! |---|---|
//! | `draft`, `dependency`, `signals` | what a person or a model writes |
//! | `normalizer` | repairs that change no meaning |
//! | `validator`, `issue` | from a draft to a plan, or to all that is wrong |
//! | `plan`, `step`, `step_index`, `graph` | the plan, its steps and who waits for whom |
//! | `policy` | how a plan may run |
//! | `status`, `readiness` | where steps stand, and which are ready |
//! | `priority` | which of the ready is first |
//! | [`machine`] | what happens to the steps of a run, event by event |
//! | `codec` | JSON, and the JSON in a model's answer |
//! | `diagram` | Mermaid and DOT |

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
