//! The steps of a plan, done by the agents of a team.
//!
//! A [`TeamStepExecutor`] makes a task of each step that names an agent or skills: in the session of its run, under the id
//! of the step, with the deadline, the cancellation, the trace and the budget of the plan. A task that is tried again is the
//! next attempt of the same id. What the team had done when the process, or the journal of the plan, failed is taken from
//! the session and not done again.
//!
//! ```
//! use convoke_core::AgentDescriptor;
//! use convoke_planning::{PlanDraft, PlanRunner, PlanValidator, StepDraft};
//! use convoke_registry::{AgentRegistry, FunctionExecutor};
//! use convoke_team::TeamRuntime;
//! use convoke_team_planning::TeamStepExecutor;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = AgentRegistry::new();
//! let writer = FunctionExecutor::new(|request, _ctx| async move { Ok(format!("a text about {}", request.input)) });
//! registry.add(AgentDescriptor::new("writer"), writer)?;
//! let counter = FunctionExecutor::new(|request, _ctx| async move {
//!     let text = request.data.as_ref().and_then(|data| data.pointer("/steps/write")?.as_str()).unwrap_or_default();
//!     Ok(text.split(' ').count().to_string())
//! });
//! registry.add(AgentDescriptor::new("counter").with_skill("count"), counter)?;
//! let team = TeamRuntime::builder(registry).build()?;
//!
//! let draft = PlanDraft::new("a text, counted")
//!     .with_step(StepDraft::new("write").by_agent("writer").with_input("the sea"))
//!     .with_step(StepDraft::new("count").titled("Count the words").requiring("count").input_from("write"));
//! let executor = TeamStepExecutor::new(&team.handle());
//! let runner = PlanRunner::builder().executor(executor.clone()).observer(executor.session_removal()).build()?;
//!
//! let run = runner.run_plan(PlanValidator::default().validate(draft)?).await?;
//! assert_eq!(run.final_text(), "5");
//! # Ok(())
//! # }
//! ```
//!
//! It spawns nothing and decides nothing about the order of steps, which is the plan's, or about who does them, which is the
//! team's. Where the runtime keeps its sessions in no journal, work that a process has lost with them is done again, under the same key.
//!
//! | where | what |
//! |---|---|
//! | `executor` | the executor |
//! | `mark` | which attempt of which step a task attempt is for |
//! | `standing` | what is to be done about a task as it stands, pure |
//! | `request`, `outcome` | from a step to a request, and from a report to what became of the step |
//! | `run_session`, `question` | the session of a run; pauses and what is kept of them |
//! | `removal` | the end of a session with its plan |

mod executor;
mod mark;
mod outcome;
mod question;
mod removal;
mod request;
mod run_session;
mod standing;

pub use executor::TeamStepExecutor;
pub use mark::StepMark;
pub use removal::SessionRemoval;
