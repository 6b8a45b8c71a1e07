//! What a team of agents shares: messages, artifacts, shared state and the records of its tasks.
//!
//! A [`Session`] has one order for everything that is written to it, and a [`SessionSnapshot`] is one moment of that
//! order: a value that costs the same whatever the size and that nothing done later changes. Work enters by
//! [`Session::admit`], which gives an [`Admission`]; its executor writes through a [`SessionHandle`]; and
//! [`Admission::settle`] ends the attempt in one commit, so that no reader ever sees a completed task without its
//! output.
//!
//! ```
//! use convoke_core::{AgentId, Message, SessionId, TaskId, TaskReport, TaskStatus};
//! use convoke_session::{Attempt, LateWriteHook, Session};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::new(SessionId::new("release-7")?);
//! let task = TaskId::new("notes")?;
//!
//! let attempt = Attempt::new(task.clone()).with_message(Message::user("write the release notes"));
//! let mut admission = session.admit(attempt)?;
//! let handle = admission.start(&AgentId::new("writer")?, LateWriteHook::none());
//! handle.post(Message::agent("found 14 changes"))?;
//! let before = session.snapshot();
//!
//! let mut report = TaskReport::new(task.clone(), session.id().clone(), TaskStatus::Completed);
//! report.output = Some("14 changes, none of them breaking".into());
//! admission.settle(report)?;
//!
//! let texts: Vec<_> = session.snapshot().messages().map(|message| message.message.text.clone()).collect();
//! assert_eq!(texts, ["write the release notes", "found 14 changes", "14 changes, none of them breaking"]);
//! assert_eq!(before.messages().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A session lives in memory and ends with its last clone, unless it comes from a [`SessionStore`]: then it is a log of a
//! [journal](convoke_core::Journal), owned by one process at a time, and what readers see is always in that log.
//!
//! This crate runs nothing: it spawns nothing, does no I/O but what a [`Recorder`] asks of a journal where its host runs
//! it, reads no clock and depends on no runtime. It chooses no agent, it keeps no time, and its ids are no authorisation:
//! whoever holds a [`Session`] may write as the host.
//!
//! | where | what |
//! |---|---|
//! | `session`, `snapshot` | the session, and one moment of it |
//! | `attempt`, `admission`, `handle`, `late` | one execution of a task, from its admission to writes that come too late |
//! | `options` | what becomes of a task that is over, where the next request or the host says so |
//! | `stored` | what a session keeps: messages, artifacts, state entries, task records |
//! | `recording`, `codec` | sessions with a log: how they are loaded and recorded, and what a record looks like |
//! | `limits` | how much a session takes, and how much is in it |
//! | `error` | what a session refuses |
//! | `machine` | all decisions, without lock, I/O or clock |

mod admission;
mod attempt;
mod codec;
mod error;
mod handle;
mod late;
mod limits;
mod machine;
mod options;
mod recording;
mod session;
mod snapshot;
mod stored;

pub use admission::{Admission, Admitted};
pub use attempt::Attempt;
pub use error::{
    AdmissionError, Oversized, ReconcileError, SessionError, SettleError, SettleProblem, StoreError,
    StoreErrorKind,
};
pub use handle::SessionHandle;
pub use late::{LateWrite, LateWriteHook, LateWriteKind};
pub use limits::{Limit, LimitKind, SessionLimits, SessionUsage};
pub use options::{AdmissionOptions, IfCompleted, Reconcile};
pub use recording::{Recorder, SessionStore};
pub use session::Session;
pub use snapshot::{SessionActivity, SessionSnapshot};
pub use stored::{Author, Expected, SessionArtifact, SessionMessage, StateEntry, TaskRecord};
