//! What a record looks like.

use std::{borrow::Cow, sync::Arc};

use convoke_core::{
    AgentId, Artifact, Message, MessageId, RequestDigest, SessionId, TaskId, TaskReport, TaskStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Author, Reconcile, SessionArtifact, SessionMessage, StateEntry, TaskRecord,
    machine::{Change, TaskChange},
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitDocument<'a> {
    #[serde(rename = "v")]
    pub(super) version: u32,
    pub(super) revision: u64,
    pub(super) changes: Vec<ChangeDocument<'a>>,
}

/// The first record of a snapshot.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadDocument {
    #[serde(rename = "v")]
    pub(super) version: u32,
    pub(super) session: SessionId,
    pub(super) revision: u64,
    pub(super) last_sequence: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ChangeDocument<'a> {
    Message {
        sequence: u64,
        id: MessageId,
        author: AuthorDocument,
        message: Cow<'a, Message>,
    },
    Artifact {
        task: TaskId,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentId>,
        artifact: Cow<'a, Artifact>,
    },
    State {
        key: Arc<str>,
        revision: u64,
        value: Cow<'a, Value>,
    },
    Erased {
        key: Arc<str>,
    },
    Metadata {
        key: Arc<str>,
        value: Cow<'a, Value>,
    },
    Task {
        task: TaskId,
        record: RecordDocument,
    },
    Trimmed {
        before: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<u64>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthorDocument {
    Host,
    Team,
    Agent(AgentId),
}

/// A report of a record: most changes of a record leave it as it is.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReportDocument {
    #[default]
    None,
    Kept,
    Report(Arc<TaskReport>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordDocument {
    status: TaskStatus,
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "ReportDocument::is_none")]
    report: ReportDocument,
    #[serde(default, skip_serializing_if = "ReportDocument::is_none")]
    late: ReportDocument,
    #[serde(default, skip_serializing_if = "is_false")]
    detached: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<RequestDigest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reconciled: Option<ReconcileDocument>,
    #[serde(default, skip_serializing_if = "is_zero")]
    staged: usize,
    /// It has the report of the record itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause: Option<Box<Self>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReconcileDocument {
    Retry,
    Abandon,
    AcceptLate,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl ReportDocument {
    fn new(report: Option<&Arc<TaskReport>>, is_kept: bool) -> Self {
        match report {
            None => Self::None,
            Some(_) if is_kept => Self::Kept,
            Some(report) => Self::Report(Arc::clone(report)),
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The report, and whether it is the one that the record has.
    fn into_report(self) -> (Option<Arc<TaskReport>>, bool) {
        match self {
            Self::None => (None, false),
            Self::Kept => (None, true),
            Self::Report(report) => (Some(report), false),
        }
    }
}

impl<'a> From<&'a Change> for ChangeDocument<'a> {
    fn from(change: &'a Change) -> Self {
        match change {
            Change::Message(message) => {
                let SessionMessage { sequence, id, author, message } = &**message;
                let (id, author) = (id.clone(), AuthorDocument::from(author));
                Self::Message { sequence: *sequence, id, author, message: Cow::Borrowed(message) }
            }
            Change::Artifact(artifact) => {
                let SessionArtifact { task, attempt, agent, artifact } = &**artifact;
                let (task, agent) = (task.clone(), agent.clone());
                Self::Artifact { task, attempt: *attempt, agent, artifact: Cow::Borrowed(artifact) }
            }
            Change::Entry(key, entry) => Self::State {
                key: Arc::clone(key),
                revision: entry.revision,
                value: Cow::Borrowed(&entry.value),
            },
            Change::Erased(key) => Self::Erased { key: Arc::clone(key) },
            Change::Metadata(key, value) => {
                Self::Metadata { key: Arc::clone(key), value: Cow::Borrowed(value) }
            }
            Change::Task(change) => {
                let TaskChange { task, record, keeps_report, keeps_late } = change;
                let mut document = RecordDocument::from(&**record);
                document.report = ReportDocument::new(record.report.as_ref(), *keeps_report);
                document.late = ReportDocument::new(record.late.as_ref(), *keeps_late);
                Self::Task { task: task.clone(), record: document }
            }
            Change::Trimmed { before, kept } => Self::Trimmed { before: *before, kept: kept.clone() },
        }
    }
}

impl ChangeDocument<'_> {
    pub(super) fn into_change(self) -> Change {
        match self {
            Self::Message { sequence, id, author, message } => {
                let (author, message) = (author.into(), message.into_owned());
                Change::Message(Arc::new(SessionMessage { sequence, id, author, message }))
            }
            Self::Artifact { task, attempt, agent, artifact } => {
                let artifact = artifact.into_owned();
                Change::Artifact(Arc::new(SessionArtifact { task, attempt, agent, artifact }))
            }
            Self::State { key, revision, value } => {
                Change::Entry(key, Arc::new(StateEntry { value: value.into_owned(), revision }))
            }
            Self::Erased { key } => Change::Erased(key),
            Self::Metadata { key, value } => Change::Metadata(key, Arc::new(value.into_owned())),
            Self::Task { task, record } => {
                let (record, keeps_report, keeps_late) = record.into_record();
                Change::Task(TaskChange { task, record: Box::new(record), keeps_report, keeps_late })
            }
            Self::Trimmed { before, kept } => Change::Trimmed { before, kept },
        }
    }
}

/// Without its reports.
impl From<&TaskRecord> for RecordDocument {
    fn from(record: &TaskRecord) -> Self {
        Self {
            status: record.status,
            attempt: record.attempt,
            agent: record.agent.clone(),
            report: ReportDocument::None,
            late: ReportDocument::None,
            detached: record.detached,
            digest: record.digest,
            reconciled: record.reconciled.map(ReconcileDocument::from),
            staged: record.staged,
            pause: record.pause.as_deref().map(|pause| Box::new(Self::from(pause))),
        }
    }
}

impl RecordDocument {
    /// The record, and whether its report and its late one are those that it has already.
    fn into_record(self) -> (TaskRecord, bool, bool) {
        let (report, keeps_report) = self.report.into_report();
        let (late, keeps_late) = self.late.into_report();
        let record = TaskRecord {
            status: self.status,
            attempt: self.attempt,
            agent: self.agent,
            report,
            detached: self.detached,
            digest: self.digest,
            late,
            reconciled: self.reconciled.map(Reconcile::from),
            staged: self.staged,
            pause: self.pause.map(|pause| Arc::new(pause.into_record().0)),
        };
        (record, keeps_report, keeps_late)
    }
}

impl From<&Author> for AuthorDocument {
    fn from(author: &Author) -> Self {
        match author {
            Author::Host => Self::Host,
            Author::Team => Self::Team,
            Author::Agent(agent) => Self::Agent(agent.clone()),
        }
    }
}

impl From<AuthorDocument> for Author {
    fn from(author: AuthorDocument) -> Self {
        match author {
            AuthorDocument::Host => Self::Host,
            AuthorDocument::Team => Self::Team,
            AuthorDocument::Agent(agent) => Self::Agent(agent),
        }
    }
}

impl From<Reconcile> for ReconcileDocument {
    fn from(decision: Reconcile) -> Self {
        match decision {
            Reconcile::Retry => Self::Retry,
            Reconcile::Abandon => Self::Abandon,
            Reconcile::AcceptLate => Self::AcceptLate,
        }
    }
}

impl From<ReconcileDocument> for Reconcile {
    fn from(decision: ReconcileDocument) -> Self {
        match decision {
            ReconcileDocument::Retry => Self::Retry,
            ReconcileDocument::Abandon => Self::Abandon,
            ReconcileDocument::AcceptLate => Self::AcceptLate,
        }
    }
}
