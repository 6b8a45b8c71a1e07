//! What a session keeps: messages, artifacts, entries of the shared state, task records.

use std::{fmt, sync::Arc};

use serde_json::Value;

use convoke_core::{
    AgentId, Artifact, Message, MessageId, RequestDigest, ResumeToken, TaskId, TaskReport, TaskStatus,
};

use crate::Reconcile;

/// Who wrote something. The session stamps it; nobody can say it of themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Author {
    /// The program that owns the session.
    #[default]
    Host,
    /// An agent.
    Agent(AgentId),
    /// Nobody in particular: a coordinated task of the team.
    Team,
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Agent(agent) => write!(f, "agent `{agent}`"),
            Self::Team => f.write_str("team"),
        }
    }
}

/// A message with its place in the session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionMessage {
    /// Its place in the order of the session, from 1; never used again, not even after a trim.
    pub sequence: u64,
    /// Its name in the session: `<task>/<attempt>/input`, `<task>/<attempt>/output`, `host/<sequence>`.
    ///
    /// The plain `output` is the attempt's answer; what it posted and its further messages follow as `output/1`,
    /// `output/2`, ..
    pub id: MessageId,
    /// Who wrote it.
    pub author: Author,
    /// What it says.
    pub message: Message,
}

/// An artifact with whom it came from. The session keys it by task and id.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionArtifact {
    /// The task whose artifact it is.
    pub task: TaskId,
    /// The attempt that published it.
    pub attempt: u32,
    /// The agent that had the attempt; `None` where it was a [coordinated](Author::Team) one.
    pub agent: Option<AgentId>,
    /// The artifact.
    pub artifact: Artifact,
}

/// A value of the shared state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateEntry {
    /// The value.
    pub value: Value,
    /// The revision of the session that wrote it: each write of a key has another one, also after an erase.
    pub revision: u64,
}

/// What a compare-and-set expects to find, and what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// No value.
    Absent,
    /// The value that was written at this [revision](StateEntry::revision).
    Revision(u64),
}

impl Expected {
    /// What a reader of `entry` expects the next writer to find.
    pub fn of(entry: Option<&StateEntry>) -> Self {
        entry.map_or(Self::Absent, |entry| Self::Revision(entry.revision))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Revision(revision) => write!(f, "at revision {revision}"),
        }
    }
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskRecord {
    /// The status of the latest attempt, or that of a pause which a later attempt did not get to work on.
    pub status: TaskStatus,
    /// The latest attempt, from 1. It fences: what an earlier one still tries is refused.
    pub attempt: u32,
    /// Who has, or had, the work; `None` until it starts, and for a [coordinated](Author::Team) attempt.
    pub agent: Option<AgentId>,
    /// How the last attempt that left a report ended. It is an earlier one while a later one is active.
    pub report: Option<Arc<TaskReport>>,
    /// Whether work of the latest attempt still runs although its caller has the report.
    pub detached: bool,
    /// What the latest attempt was asked for, where its request can be sent again.
    pub digest: Option<RequestDigest>,
    /// How detached work of the latest attempt ended, until somebody [decides](crate::Session::reconcile) about it or a
    /// next attempt is admitted.
    pub late: Option<Arc<TaskReport>>,
    /// What was decided about the latest attempt.
    pub reconciled: Option<Reconcile>,
    /// How many messages the latest attempt had staged as it ended: what it gives late is numbered after them.
    pub(crate) staged: usize,
    /// The pause that the latest attempt goes on from; it comes back where the attempt ends before its start.
    pub(crate) pause: Option<Arc<TaskRecord>>,
}

impl TaskRecord {
    /// Whether the task was abandoned, so that it never has another attempt.
    pub fn is_closed(&self) -> bool {
        self.reconciled == Some(Reconcile::Abandon)
    }

    /// Whether the status, or a decision to retry, allows a next attempt; work that is still detached is in its way all
    /// the same.
    pub fn allows_next_attempt(&self) -> bool {
        let is_retried = self.status == TaskStatus::TimedOut && self.reconciled == Some(Reconcile::Retry);
        (self.status.allows_next_attempt() || is_retried) && !self.is_closed()
    }

    /// Whether there is something that [`AdmissionOptions::late`](crate::AdmissionOptions::late) decides about.
    pub(crate) fn is_late(&self) -> bool {
        self.status == TaskStatus::TimedOut || self.late.is_some()
    }

    /// The token that an answer must carry: of a paused task whose agent gave one.
    pub fn resume_token(&self) -> Option<&ResumeToken> {
        let report = self.report.as_ref().filter(|_| self.status.is_paused())?;
        report.pause.as_ref()?.resume.as_ref()
    }
}
