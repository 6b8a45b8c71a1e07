//! The team runtime: tasks on agents, under deadlines, capacity leases and one limit, each settled once.
//!
//! A [`TeamRuntime`] takes a request, admits it to its session, waits for an agent that has the skills and a free place,
//! calls the agent's executor on a task of its own, and settles the attempt in one commit. "The caller has its answer"
//! and "the work has ended" are two events: a deadline or a cancellation answers the caller promptly, while the lease,
//! the slot and the record stay held until the work has really ended.
//!
//! ```
//! use std::time::Duration;
//!
//! use convoke_core::{AgentDescriptor, TaskRequest, TaskStatus};
//! use convoke_registry::{AgentRegistry, FunctionExecutor};
//! use convoke_team::TeamRuntime;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = AgentRegistry::new();
//! registry.add(
//!     AgentDescriptor::new("slow"),
//!     FunctionExecutor::new(|_request, _ctx| async {
//!         tokio::time::sleep(Duration::from_secs(60)).await;
//!         Ok("done")
//!     }),
//! )?;
//! let team = TeamRuntime::builder(registry).build()?;
//! let report = team.run(TaskRequest::new("hurry").with_timeout(Duration::from_secs(1))).await?;
//!
//! assert_eq!(report.status, TaskStatus::TimedOut);
//! assert!(report.detached, "the agent did not heed the stop");
//! assert_eq!(team.stats().detached, 1);
//! # Ok(())
//! # }
//! ```
//!
//! It knows no plan, no vote and no model, and it makes no identities, permissions, durable queues or distributed locks.
//!
//! | where | what |
//! |---|---|
//! | `runtime`, `builder` | what a host calls |
//! | `backend` | what handles ask for, carried out |
//! | `caller` | who asks, and what nested work takes from the task that asks for it |
//! | `prepared`, `attempt`, `work` | one attempt: what is decided at the first poll; admission, dispatch, settlement; the beginning of the work |
//! | `execution` | the work, to its real end |
//! | `begun`, `stops` | what the work and a stop share: who settles the attempt; what stops it, and the watch that a stop begins |
//! | `ending` | the one compare-and-set of an attempt: who decides how it ended |
//! | `aftermath` | where detached work meets the settlement of its attempt |
//! | `answer` | answers, and who gets them |
//! | `detached` | the work that goes on although its caller has its answer |
//! | `outcome` | what a report says about an end: pure |
//! | `parallel`, `each` | many tasks in one line, and their answers as they come |
//! | `sessions`, `shared`, `clock`, `flag` | the sessions of a runtime, what its tasks share with it, its time, its end |
//! | `recorded`, `bounded_journal`, `settled` | the sessions that are kept in a journal: loaded and recorded, within a time; the end of their attempts |
//! | `event`, `telemetry` | what is told, and how a failing observer is kept from the work |

mod aftermath;
mod answer;
mod attempt;
mod backend;
mod begun;
mod bounded_journal;
mod builder;
mod caller;
mod clock;
mod detached;
mod each;
mod ending;
mod event;
mod execution;
mod flag;
mod outcome;
mod parallel;
mod prepared;
mod recorded;
mod runtime;
mod sessions;
mod settled;
mod shared;
mod stops;
mod telemetry;
mod work;

/// Why an observer did not take an event.
pub use convoke_observability::ObserverError;

pub use builder::{BuildError, TeamRuntimeBuilder};
pub use detached::{DetachedWork, NotDetached};
pub use event::{TeamEvent, TeamEventKind, TeamObserver};
pub use runtime::{TeamRuntime, TeamStats};
pub use sessions::{SessionAdminError, UnfinishedTask};
pub use telemetry::TelemetryFailures;
