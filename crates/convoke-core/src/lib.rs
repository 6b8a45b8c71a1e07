//! The words that every crate of Convoke shares: ids, agents, tasks, messages, errors and budgets.
//!
//! A [`TaskRequest`] says what is to be done and what skills that takes; an [`AgentDescriptor`] says who can do what;
//! an executor answers with a [`TaskOutcome`] or an [`ExecutorError`]; the caller gets a [`TaskReport`] that says who
//! did it, how it ended and what came out. A [`Budget`] is reserved before money is spent.
//!
//! ```
//! use convoke_core::{AgentDescriptor, TaskOutcome, TaskRequest};
//!
//! let reviewer = AgentDescriptor::new("reviewer").with_skill("review");
//! let request = TaskRequest::new("Draft text").requiring("review");
//! let outcome = TaskOutcome::completed("two typos in line 3");
//! assert_eq!(outcome.output().text, "two typos in line 3");
//! ```
//!
//! This crate spawns nothing, does no I/O, reads no clock and holds no registry. Of tokio it takes the type of a moment
//! and the cancellation token, and no runtime.
//!
//! | where | what |
//! |---|---|
//! | `id`, `derived`, `id_generator` | ids: checked, derived from each other, generated |
//! | `agent` | who an agent is: descriptor, skills |
//! | `request`, `digest`, `outcome`, `resume`, `report` | a task from its request to its report |
//! | `status`, `code`, `error` | the state machine of a task, the error codes, the errors |
//! | `message`, `artifact`, `json` | what is said and what is kept; how large and how deep values are |
//! | `budget` | counters that are reserved before they are spent |
//! | `journal` | the contract of logs that outlive a process |
//! | `scope` | what work inherits from the work that asked for it |

mod agent;
mod artifact;
mod budget;
mod code;
mod derived;
mod digest;
mod error;
mod id;
mod id_generator;
mod journal;
mod json;
mod message;
mod outcome;
mod report;
mod request;
mod resume;
mod scope;
mod status;

pub use agent::{AgentDescriptor, Metadata, Skill, SkillOrigin};
pub use artifact::Artifact;
pub use budget::{
    AnyLedger, Budget, BudgetBuilder, BudgetError, BudgetLedger, BudgetUsage, LedgerError, Reservation, Units,
};
pub use code::ErrorCode;
pub use derived::{AttemptPart, derived_id};
pub use digest::RequestDigest;
pub use error::{ExecutorError, TaskError, error_chain};
pub use id::{
    AgentId, ArtifactId, CallId, CommitId, IdError, IdProblem, LogId, MAX_ID_BYTES, MessageId, OwnerId,
    PlanId, RunId, SessionId, SignalId, SkillId, StepId, TaskId,
};
pub use id_generator::IdGenerator;
pub use journal::{
    AnyJournal, Claim, Commit, Committed, Durability, FencingToken, Journal, JournalCapabilities,
    JournalError, JournalErrorKind, LogContents, ReadFrom, Record, Sequence, Signal, Snapshot,
};
pub use json::{MAX_JSON_DEPTH, json_is_too_deep, json_size};
pub use message::{Message, Role};
pub use outcome::{TaskOutcome, TaskOutput};
pub use report::{NotCompleted, Pause, TaskReport, Timing};
pub use request::{CapacityPolicy, RequestDefect, Resume, TaskRequest};
pub use resume::ResumeToken;
pub use scope::{Extension, InScope, Lineage, Scope};
pub use status::TaskStatus;
