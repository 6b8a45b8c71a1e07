//! What readers see: persistent collections, so that a copy shares all but what changes afterwards.

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use serde_json::Value;

use convoke_core::{ArtifactId, Message, MessageId, SessionId, TaskId};

use crate::{Author, SessionActivity, SessionArtifact, SessionMessage, SessionUsage, StateEntry, TaskRecord};

/// One revision of a session.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) id: SessionId,
    pub(crate) revision: u64,
    /// In the order of their sequence numbers, which have gaps after a trim.
    pub(crate) messages: Vector<Arc<SessionMessage>>,
    pub(crate) artifacts: OrdMap<(TaskId, ArtifactId), Arc<SessionArtifact>>,
    pub(crate) shared: OrdMap<Arc<str>, Arc<StateEntry>>,
    pub(crate) tasks: OrdMap<TaskId, Arc<TaskRecord>>,
    pub(crate) metadata: OrdMap<Arc<str>, Arc<Value>>,
    pub(crate) last_sequence: u64,
    pub(crate) bytes: u64,
    pub(crate) activity: SessionActivity,
}

impl State {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            revision: 0,
            messages: Vector::new(),
            artifacts: OrdMap::new(),
            shared: OrdMap::new(),
            tasks: OrdMap::new(),
            metadata: OrdMap::new(),
            last_sequence: 0,
            bytes: 0,
            activity: SessionActivity::default(),
        }
    }

    pub(crate) fn usage(&self) -> SessionUsage {
        SessionUsage {
            messages: self.messages.len() as u64,
            bytes: self.bytes,
            artifacts: self.artifacts.len() as u64,
        }
    }

    pub(super) fn push_message(&mut self, id: MessageId, author: Author, message: Message) {
        self.last_sequence += 1;
        self.bytes += message.size() as u64;
        self.messages.push_back(Arc::new(SessionMessage {
            sequence: self.last_sequence,
            id,
            author,
            message,
        }));
    }

    pub(super) fn put_artifact(&mut self, artifact: SessionArtifact) {
        let key = (artifact.task.clone(), artifact.artifact.id.clone());
        self.bytes += artifact.artifact.size() as u64;
        if let Some(replaced) = self.artifacts.insert(key, Arc::new(artifact)) {
            self.bytes -= replaced.artifact.size() as u64;
        }
    }

    /// This and [`change_record`](Self::change_record) are all that touch records, so that the counts of
    /// [`SessionActivity`] follow.
    pub(super) fn put_record(&mut self, task: TaskId, record: TaskRecord) {
        self.activity.add(&record);
        if let Some(replaced) = self.tasks.insert(task, Arc::new(record)) {
            self.activity.remove(&replaced);
        }
    }

    /// Changes a record in its place, unless a snapshot still has it; nothing where there is none.
    pub(super) fn change_record(&mut self, task: &TaskId, change: impl FnOnce(&mut TaskRecord)) {
        let Some(record) = self.tasks.get_mut(task) else { return };
        self.activity.remove(record);
        let record = Arc::make_mut(record);
        change(record);
        self.activity.add(record);
    }
}
