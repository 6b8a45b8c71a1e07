//! One moment of a session, as a value.

use std::{fmt, sync::Arc};

use serde_json::Value;

use convoke_core::{ArtifactId, MessageId, SessionId, TaskId};

use crate::{SessionArtifact, SessionMessage, SessionUsage, StateEntry, TaskRecord, machine::State};

/// One moment of a [`Session`](crate::Session): taking one costs the same whatever the size of the session, and nothing
/// done later changes it.
///
/// ```
/// use convoke_core::{Message, SessionId};
/// use convoke_session::Session;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::new(SessionId::new("chat")?);
/// session.post(Message::user("hello")).await?;
/// let then = session.snapshot();
/// session.post(Message::user("is anybody there?")).await?;
///
/// assert_eq!(then.messages().len(), 1);
/// let news: Vec<_> = session.snapshot().messages_after(1).map(|message| message.sequence).collect();
/// assert_eq!(news, [2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SessionSnapshot(Arc<State>);

impl SessionSnapshot {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self(state)
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// How many commits the session had seen; each one raises it by one.
    pub fn revision(&self) -> u64 {
        self.0.revision
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &SessionMessage> + ExactSizeIterator {
        self.0.messages.iter().map(Arc::as_ref)
    }

    /// The messages with a sequence number above `sequence`, oldest first; all of them for 0.
    ///
    /// Finding the first takes logarithmic time, so a reader can follow a long session from where it was.
    pub fn messages_after(&self, sequence: u64) -> impl DoubleEndedIterator<Item = &SessionMessage> {
        let messages = &self.0.messages;
        let first = match messages.binary_search_by_key(&sequence, |message| message.sequence) {
            Ok(index) => index + 1,
            Err(index) => index,
        };
        messages.focus().narrow(first..).into_iter().map(Arc::as_ref)
    }

    /// The message at an index, 0 being the oldest.
    pub fn message_at(&self, index: usize) -> Option<&SessionMessage> {
        self.0.messages.get(index).map(Arc::as_ref)
    }

    /// The message of this id. Looks from the newest one back, one by one.
    pub fn message(&self, id: &MessageId) -> Option<&SessionMessage> {
        self.messages().rev().find(|message| message.id == *id)
    }

    /// The artifacts, by task and id.
    pub fn artifacts(&self) -> impl DoubleEndedIterator<Item = &SessionArtifact> + ExactSizeIterator {
        self.0.artifacts.values().map(Arc::as_ref)
    }

    /// The artifact of this task and id.
    pub fn artifact(&self, task: &TaskId, id: &ArtifactId) -> Option<&SessionArtifact> {
        self.0.artifacts.get(&(task.clone(), id.clone())).map(Arc::as_ref)
    }

    /// The artifacts of this task, by id. Takes time with those and the logarithm of all.
    pub fn artifacts_of(&self, task: &TaskId) -> impl Iterator<Item = &SessionArtifact> {
        // No id comes before it: one begins with neither a blank nor a control character.
        let first = ArtifactId::new("!").ok().map(|first| (task.clone(), first));
        let from = first.map(|first| self.0.artifacts.range(first..));
        let of_task = from.into_iter().flatten().map(|(_, artifact)| &**artifact);
        of_task.take_while(|artifact| artifact.task == *task)
    }

    /// The shared state, by key.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = (&str, &StateEntry)> + ExactSizeIterator {
        self.0.shared.iter().map(|(key, entry)| (&**key, &**entry))
    }

    /// The value of a key of the shared state.
    pub fn state(&self, key: &str) -> Option<&StateEntry> {
        self.0.shared.get(key).map(Arc::as_ref)
    }

    /// The task records, by id.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = (&TaskId, &TaskRecord)> + ExactSizeIterator {
        self.0.tasks.iter()
    }

    /// The record of a task.
    pub fn task(&self, task: &TaskId) -> Option<&TaskRecord> {
        self.0.tasks.get(task)
    }

    /// What the host attached under this key.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.0.metadata.get(key).map(Arc::as_ref)
    }

    /// How much is in the session.
    pub fn usage(&self) -> SessionUsage {
        self.0.usage()
    }

    /// What goes on in the session.
    pub fn activity(&self) -> SessionActivity {
        self.0.tasks.activity()
    }
}

impl fmt::Debug for SessionSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSnapshot")
            .field("id", &self.0.id)
            .field("revision", &self.0.revision)
            .field("usage", &self.usage())
            .field("activity", &self.activity())
            .finish_non_exhaustive()
    }
}

/// How many tasks keep a session from being idle. A record may count as paused and as detached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionActivity {
    /// Submitted or working.
    pub active: usize,
    /// Waiting for an answer.
    pub paused: usize,
    /// Ended for their callers, with work that still runs.
    pub detached: usize,
    /// Ended, with a [late report](TaskRecord::late) that nobody has decided about.
    pub late: usize,
}

impl SessionActivity {
    /// Whether nothing is active, paused, detached or late, so that nobody comes back for the session.
    pub fn is_idle(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn of<'a>(records: impl Iterator<Item = &'a TaskRecord>) -> Self {
        let mut activity = Self::default();
        records.for_each(|record| activity.add(record));
        activity
    }

    pub(crate) fn add(&mut self, record: &TaskRecord) {
        self.active += usize::from(record.status.is_active());
        self.paused += usize::from(record.status.is_paused());
        self.detached += usize::from(record.detached);
        self.late += usize::from(record.late.is_some());
    }

    pub(crate) fn remove(&mut self, record: &TaskRecord) {
        self.active -= usize::from(record.status.is_active());
        self.paused -= usize::from(record.status.is_paused());
        self.detached -= usize::from(record.detached);
        self.late -= usize::from(record.late.is_some());
    }
}
