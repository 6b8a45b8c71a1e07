//! For tests of agents and of hosts: what stands in for the rest of a team, offline and without sleeps.
//!
//! A test writes down what an agent does, a [`Step`] a call, and registers a [`ScriptedExecutor`] in its place. What
//! has to happen while the agent works is held at a [`Gate`] until the test opens it; time is tokio's, paused. A
//! [`RecordingObserver`] keeps what the team tells, a [`FailingObserver`] or [`FailingSink`] fails at it. Whoever
//! implements a contract runs its suite of [`conformance`].
//!
//! ```
//! use std::time::Duration;
//!
//! use convoke_core::{AgentDescriptor, TaskRequest, TaskStatus};
//! use convoke_registry::AgentRegistry;
//! use convoke_team::TeamRuntime;
//! use convoke_testkit::{Gate, ScriptedExecutor, Step};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Gate::closed();
//! let registry = AgentRegistry::new();
//! registry.add(AgentDescriptor::new("slow"), ScriptedExecutor::new([Step::reply("at last").after(&gate)]))?;
//! let team = TeamRuntime::builder(registry).build()?;
//!
//! let report = team.run(TaskRequest::new("go").with_timeout(Duration::from_secs(1))).await?;
//! assert_eq!(report.status, TaskStatus::TimedOut);
//! assert_eq!(team.stats().detached, 1);
//! gate.open();
//! # Ok(())
//! # }
//! ```
//!
//! It reads no network and no wall clock, and it is for dev-dependencies alone: no crate may need it in order to build.
//!
//! | where | what |
//! |---|---|
//! | `gate`, `dropped_after` | holding work up at a chosen place, and dropping it there |
//! | `step`, `scripted` | an executor that follows a script |
//! | `trial` | one call of an executor, without a runtime |
//! | `recording_observer`, `failing_observer`, `failing_sink` | who listens to a team |
//! | `faulty_journal`, `hooked_journal` | journals that fail or wait where a test says |
//! | [`conformance`] | suites for implementors of sinks, executors, resolvers and journals |
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `journal` | no | `FaultyJournal`, `HookedJournal`, `conformance::journal`, `conformance::durable_journal` |
//! | `observability` | by `team` | `FailingSink`, `conformance::event_sink` |
//! | `registry` | by `team` | `ScriptedExecutor`, `Step`, `Trial`, `conformance::agent_executor` |
//! | `team` | yes | `RecordingObserver`, `FailingObserver`, and the two above |
//! | `consensus` | no | `conformance::resolver` |
//!
//! `Gate` and `dropped_after` are always there.

#[cfg(any(feature = "consensus", feature = "journal", feature = "observability", feature = "registry"))]
pub mod conformance;
mod dropped_after;
#[cfg(feature = "team")]
mod failing_observer;
#[cfg(feature = "observability")]
mod failing_sink;
#[cfg(feature = "observability")]
mod faults;
#[cfg(feature = "journal")]
mod faulty_journal;
mod gate;
#[cfg(feature = "journal")]
mod hooked_journal;
#[cfg(feature = "team")]
mod recording_observer;
#[cfg(feature = "registry")]
mod scripted;
#[cfg(feature = "registry")]
mod step;
#[cfg(feature = "registry")]
mod trial;

pub use dropped_after::dropped_after;
#[cfg(feature = "team")]
pub use failing_observer::FailingObserver;
#[cfg(feature = "observability")]
pub use failing_sink::FailingSink;
#[cfg(feature = "journal")]
pub use faulty_journal::{FaultyJournal, JournalFault};
pub use gate::Gate;
#[cfg(feature = "journal")]
pub use hooked_journal::{HookAnswer, HookedJournal, JournalCall, JournalMoment, go_on};
#[cfg(feature = "team")]
pub use recording_observer::RecordingObserver;
#[cfg(feature = "registry")]
pub use scripted::ScriptedExecutor;
#[cfg(feature = "registry")]
pub use step::Step;
#[cfg(feature = "registry")]
pub use trial::Trial;
