//! Consensus as a task: several agents answer the same question, and a verdict is committed with what it rests on.
//!
//! A [`ConsensusRequest`] names a task, who takes part and how it is decided. [`reach_consensus`] runs it as a coordinated task
//! of the team: it is admitted, has a deadline and a slot that it lends to its participants, and ends in one commit. Each
//! participant has a task of its own, `<consensus>/<round>/<agent>`, and waits for capacity in the team's one line. A [`Resolver`]
//! makes the verdict; one that counts votes can decide before all have answered, and then the others are stopped. A verdict that
//! is not reached says why in one line.
//!
//! ```
//! use convoke_consensus::{ConsensusRequest, ReachConsensus as _};
//! use convoke_core::{AgentDescriptor, TaskRequest};
//! use convoke_registry::{AgentRegistry, FunctionExecutor};
//! use convoke_team::TeamRuntime;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = AgentRegistry::new();
//! for (agent, word) in [("ada", "ship"), ("bob", "ship"), ("cy", "wait")] {
//!     let reviewer = FunctionExecutor::new(move |_request, _ctx| async move { Ok(word) });
//!     registry.add(AgentDescriptor::new(agent).with_skill("review"), reviewer)?;
//! }
//! let team = TeamRuntime::builder(registry).build()?;
//!
//! let request = ConsensusRequest::new(TaskRequest::new("Ship 1.4?").requiring("review"));
//! let report = team.handle().reach_consensus(request).await?;
//! assert_eq!(report.text(), "ship");
//! let summary = report.summary.unwrap();
//! assert_eq!(
//!     summary.to_string(),
//!     "3 eligible, 3 asked, 3 succeeded, 0 failed; 2 votes required; votes 2 (`ada`, `bob`), 1 (`cy`)"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! It knows no model and no plan, spawns nothing, and makes no identities: a participant is whoever is registered under its id,
//! and what it says is taken as said. It is no distributed consensus: the votes are those of agents in one runtime.
//!
//! | where | what |
//! |---|---|
//! | `tally` | the count, pure: ballots in, pending, reached or impossible out |
//! | `answer`, `counting` | what votes are compared by; how they are read and weighed |
//! | `resolver`, `results` | the contract of what makes a verdict, and what it is given |
//! | `resolvers` | those that come with the crate |
//! | `request`, `reach` | what is asked for, and the call |
//! | `eligible` | who takes part, and what is refused before anybody is asked |
//! | `deliberation`, `collection`, `guard` | one round: asking, listening, deciding; what came in; panics of resolvers |
//! | `summary`, `report`, `event` | what a verdict rests on, what the caller gets, what is told |

mod answer;
mod collection;
mod counting;
mod deliberation;
mod eligible;
mod event;
mod guard;
mod reach;
mod report;
mod request;
mod resolver;
mod resolvers;
mod results;
mod summary;
mod tally;

pub use answer::Answer;
pub use counting::Counting;
pub use event::{ConsensusEvent, ConsensusEventKind, ConsensusObserver};
pub use reach::{ReachConsensus, reach_consensus, reach_consensus_with};
pub use report::ConsensusReport;
pub use request::{ConsensusRequest, Decide};
pub use resolver::{AnyResolver, Resolver, ResolverContext, Verdict};
pub use resolvers::{ExactOutput, JsonField, JudgeAgent, Merge, Ranked, Rubric, Weighted};
pub use results::Results;
pub use summary::{ConsensusSummary, FailedParticipant, VoteCount};
pub use tally::{Agreement, AnswerVotes, Ballot, Basis, Decision, Rules, Tally};
