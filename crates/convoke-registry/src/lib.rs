//! Who can do what, who is free and who waits: agents, their executors, and the leases that bound their work.
//!
//! An [`AgentRegistry`] keeps agents by id. An [`AgentExecutor`] does an agent's work; a closure is enough
//! ([`FunctionExecutor`]). A request for skills gets a [`Lease`]: a unit of one agent's capacity as an owned guard,
//! which moves into the work and is free again when the work has really ended. A limit over all agents is a
//! [`Slots`]: a lease acquired through it takes a slot in the same step, so that whoever waits holds neither.
//!
//! ```
//! use convoke_core::{AgentDescriptor, SkillId};
//! use convoke_registry::{AgentRegistry, FunctionExecutor, LeaseRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = AgentRegistry::new();
//! let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
//! registry.add(AgentDescriptor::new("reviewer").with_skill("review"), echo)?;
//!
//! let review = [SkillId::new("review")?];
//! let lease = registry.acquire(LeaseRequest::new(&review)).await?;
//! assert_eq!(lease.agent().as_str(), "reviewer");
//! assert_eq!(registry.list()[0].active, 1);
//! drop(lease);
//! assert_eq!(registry.list()[0].active, 0);
//! # Ok(())
//! # }
//! ```
//!
//! This crate spawns no task, but the calls of a [`BlockingExecutor`] on the pool for them, and reads nothing of a
//! session; it knows no plan. A runtime that admits, runs and settles tasks stands above it.
//!
//! | where | what |
//! |---|---|
//! | `dispatch` | the machine: who gets a lease and a slot, who waits, who is refused, and in which order |
//! | `registry` | registration and its rules; the one lock around the machine |
//! | `lease`, `slots` | leases, slots, and waiting for both |
//! | `running`, `awaiting` | what running work awaits, and its waits for tasks that have a handle |
//! | `executor`, `context`, `progress` | the contract of an executor, and what it is given |
//! | `function`, `blocking` | executors made of a function |
//! | `process` | an executor that runs a program |
//! | `team_handle`, `team_sessions` | the door to a runtime, for nested work and for all that stands above, and its sessions for the latter |
//! | `run_options`, `task_handle`, `answers` | what a caller says about a run, the handle of a task that runs on its own, and the answers of many as they come |
//! | `coordination` | tasks that nobody in particular does |
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `process` | no | `ProcessExecutor`: a child process for each attempt, which can really be stopped; on Unix |

mod answers;
mod awaiting;
mod blocking;
mod context;
mod coordination;
mod dispatch;
mod executor;
mod function;
mod lease;
#[cfg(all(unix, feature = "process"))]
mod process;
mod progress;
mod registry;
mod run_options;
mod running;
mod slots;
mod task_handle;
mod team_handle;
mod team_sessions;

pub use answers::Answers;
pub use awaiting::Awaitable;
pub use blocking::BlockingExecutor;
pub use context::{CoordinatedContext, DEFAULT_GRACE, ExecutionContext};
pub use coordination::{
    Coordination, CoordinationBody, CoordinationCheck, CoordinationError, CoordinationEvents,
    CoordinationMoment, CoordinationStage,
};
pub use dispatch::{Availability, Refusal, WaitStep};
pub use executor::{AgentExecutor, AnyExecutor, ExecutorCapabilities};
pub use function::FunctionExecutor;
pub use lease::{Lease, LeaseMark, LeaseRequest, SlotLease};
#[cfg(all(unix, feature = "process"))]
pub use process::{ProcessAnswer, ProcessError, ProcessExecutor, ProcessRequest};
pub use progress::{Progress, ProgressSender, Updates};
pub use registry::{AgentRegistry, AgentSnapshot, RegistryError};
pub use run_options::{RunOptions, TeamError};
pub use running::{RunningTask, TaskClaim, Wait, WaitId};
pub use slots::{LeaseBatch, SlotRequest, SlotUsage, Slots};
pub use task_handle::{TaskDriver, TaskHandle};
pub use team_handle::{TeamAnswer, TeamBackend, TeamHandle};
pub use team_sessions::TeamSessions;
/// The token that stops a run, as `tokio-util` defines it.
pub use tokio_util::sync::CancellationToken;
