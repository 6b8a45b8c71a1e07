//! Convoke runs teams of agents: it gives each task to an agent that has the skills and a free place, and reports who did
//! it, how it ended and what came out.
//!
//! Agents are registered with the skills that they declare and the executor that does their work. A [`TeamRuntime`] takes
//! task requests: it dispatches by all required skills, availability and free capacity, runs under deadlines that return
//! promptly, keeps what the team shares in sessions, and settles each attempt once. An agent may ask the team for work
//! ([`TeamHandle`]); a wait that could never end is refused. Start with the [`prelude`].
//!
//! ```
//! use convoke::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = AgentRegistry::new();
//! registry.add(
//!     AgentDescriptor::new("reviewer").with_skill("review"),
//!     FunctionExecutor::new(|request, _ctx| async move { Ok(format!("looks good: {}", request.input)) }),
//! )?;
//!
//! let team = TeamRuntime::builder(registry).build()?;
//! let report = team.run(TaskRequest::new("Draft text").requiring("review")).await?;
//! assert_eq!(report.text(), "looks good: Draft text");
//! # Ok(())
//! # }
//! ```
//!
//! This crate holds no logic: it names what its layers offer, so that a host depends on one crate. It brings no HTTP
//! client, no TLS, no database and no model.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `team` | yes | registry, sessions, the team runtime and its events |
//! | `consensus` | no | votes as tasks: the module [`consensus`], `reach_consensus` |
//! | `journal` | no | `FileJournal`, `MemoryJournal`: where sessions and plans outlive the process |
//! | `planning` | no | plans and their runs, without a team: the module [`planning`] |
//! | `team-planning` | no | `team`, `planning`, and `TeamStepExecutor`: agents do the steps of plans |
//! | `broadcast` | no | `BroadcastSink`: events for user interfaces |
//! | `process` | no | `ProcessExecutor`: a child process for each attempt, which can really be stopped; on Unix |
//! | `tracing` | no | `TracingSink`: events of the `tracing` crate |
//!
//! Without `team` and `planning`, what is left are the words of `convoke-core`: ids, requests, outcomes, reports, budgets.

#[cfg(feature = "consensus")]
pub use convoke_consensus as consensus;
#[cfg(feature = "consensus")]
pub use convoke_consensus::{
    ConsensusReport, ConsensusRequest, ConsensusSummary, ReachConsensus, reach_consensus,
    reach_consensus_with,
};
pub use convoke_core::{
    AgentDescriptor, AgentId, AnyJournal, AnyLedger, Artifact, ArtifactId, AttemptPart, Budget,
    BudgetBuilder, BudgetError, BudgetLedger, BudgetUsage, CallId, CapacityPolicy, ErrorCode, ExecutorError,
    Extension, IdError, IdGenerator, IdProblem, InScope, Journal, JournalError, JournalErrorKind,
    LedgerError, Lineage, LogId, Message, MessageId, Metadata, NotCompleted, OwnerId, Pause, PlanId,
    RequestDefect, RequestDigest, Reservation, Resume, ResumeToken, Role, RunId, Scope, SessionId, Skill,
    SkillId, SkillOrigin, StepId, TaskError, TaskId, TaskOutcome, TaskOutput, TaskReport, TaskRequest,
    TaskStatus, Timing, Units, derived_id, error_chain,
};
#[cfg(feature = "journal")]
pub use convoke_journal as journal;
#[cfg(feature = "journal")]
pub use convoke_journal::{FileJournal, MemoryJournal};
#[cfg(feature = "team")]
pub use convoke_observability as observability;
#[cfg(feature = "planning")]
pub use convoke_planning as planning;
#[cfg(feature = "planning")]
pub use convoke_planning::RunOptions as PlanRunOptions;
#[cfg(feature = "planning")]
pub use convoke_planning::{
    AgentStepExecutor, AnyStepExecutor, ApprovalDecision, ApprovalProvider, CompositeStepExecutor,
    FunctionPlanner, FunctionStepExecutor, InvalidPlan, PendingStep, Plan, PlanCodec, PlanDraft, PlanError,
    PlanEvent, PlanEventKind, PlanHandle, PlanIssue, PlanNormalizer, PlanObserver, PlanPolicy, PlanRun,
    PlanRunner, PlanRunnerBuilder, PlanStep, PlanUpdate, PlanUpdates, PlanValidator, Planner,
    PlanningRequest, PolicyHook, PrioritySignals, Reflector, Review, StaticPlanner, StepContext, StepDraft,
    StepExecutor, StepOutcome, StepReport, StepStatus, StillRunning,
};
#[cfg(feature = "team")]
pub use convoke_registry::{
    AgentExecutor, AgentRegistry, AgentSnapshot, Answers, AnyExecutor, Availability, BlockingExecutor,
    CancellationToken, CoordinatedContext, Coordination, CoordinationError, CoordinationEvents,
    CoordinationMoment, CoordinationStage, ExecutionContext, ExecutorCapabilities, FunctionExecutor, Lease,
    LeaseBatch, LeaseMark, LeaseRequest, Progress, Refusal, RegistryError, RunOptions, SlotUsage, Slots,
    TaskHandle, TeamAnswer, TeamError, TeamHandle, TeamSessions, Updates, WaitStep,
};
#[cfg(all(unix, feature = "process"))]
pub use convoke_registry::{ProcessAnswer, ProcessError, ProcessExecutor, ProcessRequest};
#[cfg(feature = "team")]
pub use convoke_session as session;
#[cfg(feature = "team")]
pub use convoke_session::{
    Expected, IfCompleted, Limit, Reconcile, ReconcileError, Session, SessionError, SessionHandle,
    SessionLimits, SessionSnapshot, TaskRecord,
};
#[cfg(feature = "team")]
pub use convoke_team::{
    BuildError, DetachedWork, NotDetached, ObserverError, SessionAdminError, TeamEvent, TeamEventKind,
    TeamObserver, TeamRuntime, TeamRuntimeBuilder, TeamStats, TelemetryFailures, UnfinishedTask,
};
#[cfg(feature = "team-planning")]
pub use convoke_team_planning::{SessionRemoval, StepMark, TeamStepExecutor};
/// JSON values, as `serde_json` defines them.
pub use serde_json::{Value, json};

/// What most programs need.
pub mod prelude {
    #[cfg(feature = "team-planning")]
    pub use crate::TeamStepExecutor;
    pub use crate::{
        AgentDescriptor, AgentId, Artifact, Budget, CapacityPolicy, ErrorCode, ExecutorError, Message,
        ResumeToken, SessionId, Skill, SkillId, TaskId, TaskOutcome, TaskOutput, TaskReport, TaskRequest,
        TaskStatus, Units, Value, json,
    };
    #[cfg(feature = "team")]
    pub use crate::{
        AgentExecutor, AgentRegistry, Availability, BlockingExecutor, CancellationToken, ExecutionContext,
        ExecutorCapabilities, FunctionExecutor, Progress, RunOptions, Session, TaskHandle, TeamError,
        TeamEvent, TeamEventKind, TeamHandle, TeamRuntime,
    };
    #[cfg(feature = "consensus")]
    pub use crate::{ConsensusReport, ConsensusRequest, ReachConsensus};
    #[cfg(feature = "planning")]
    pub use crate::{
        FunctionStepExecutor, Plan, PlanDraft, PlanPolicy, PlanRun, PlanRunner, PlanValidator, StepContext,
        StepDraft, StepExecutor, StepOutcome, StepStatus,
    };
}

/// The programs of the README and the guides, which `cargo test` runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[cfg(feature = "journal")]
    #[doc = include_str!("../../../docs/guides/a-first-team.md")]
    mod a_first_team {}
    #[doc = include_str!("../../../docs/guides/capacity-and-nested-work.md")]
    mod capacity_and_nested_work {}
    #[cfg(feature = "consensus")]
    #[doc = include_str!("../../../docs/guides/deciding-together.md")]
    mod deciding_together {}
    #[cfg(all(unix, feature = "process"))]
    #[doc = include_str!("../../../docs/guides/deadlines-and-detached-work.md")]
    mod deadlines_and_detached_work {}
}
