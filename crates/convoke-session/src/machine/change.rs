//! What commits are made of: the changes of a state, as they are made and as they are replayed.

use std::sync::Arc;

use serde_json::Value;

use convoke_core::{Message, MessageId, TaskId};

use super::{
    State,
    ahead::{Ahead, Redo},
    records::Records,
};
use crate::{Author, SessionArtifact, SessionMessage, SessionUsage, StateEntry, TaskRecord};

/// One step of a commit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Message(Arc<SessionMessage>),
    Artifact(Arc<SessionArtifact>),
    Entry(Arc<str>, Arc<StateEntry>),
    Erased(Arc<str>),
    Metadata(Arc<str>, Arc<Value>),
    Task(TaskChange),
    /// The messages before this sequence number went, but for those that are named.
    Trimmed {
        before: u64,
        kept: Vec<u64>,
    },
}

/// A record as it is now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskChange {
    pub(crate) task: TaskId,
    pub(crate) record: Box<TaskRecord>,
    /// Whether the report is the one that the record had before.
    pub(crate) keeps_report: bool,
    /// Whether the late report is the one that the record had before.
    pub(crate) keeps_late: bool,
}

/// One commit in the making. What it changes is in the state at once; dropped, it is complete, and in line for the log
/// where the session has one.
pub(super) struct Edit<'a> {
    pub(super) state: &'a mut State,
    ahead: Option<&'a mut Ahead>,
}

impl<'a> Edit<'a> {
    pub(super) fn new(state: &'a mut State, ahead: Option<&'a mut Ahead>) -> Self {
        state.revision += 1;
        Self { state, ahead }
    }

    pub(super) fn push_message(&mut self, id: MessageId, author: Author, message: Message) {
        let sequence = self.state.last_sequence + 1;
        let message = Arc::new(SessionMessage { sequence, id, author, message });
        self.note(|| Change::Message(Arc::clone(&message)));
        self.state.push_message(message);
    }

    pub(super) fn put_artifact(&mut self, artifact: SessionArtifact) {
        let artifact = Arc::new(artifact);
        self.note(|| Change::Artifact(Arc::clone(&artifact)));
        self.state.put_artifact(artifact);
    }

    pub(super) fn set(&mut self, key: Arc<str>, value: Value) -> Arc<StateEntry> {
        let entry = Arc::new(StateEntry { value, revision: self.state.revision });
        self.note(|| Change::Entry(Arc::clone(&key), Arc::clone(&entry)));
        self.state.set(key, Arc::clone(&entry));
        entry
    }

    pub(super) fn erase(&mut self, key: &str) {
        self.note(|| Change::Erased(Arc::from(key)));
        self.state.erase(key);
    }

    pub(super) fn set_metadata(&mut self, key: Arc<str>, value: Value) {
        let value = Arc::new(value);
        self.note(|| Change::Metadata(Arc::clone(&key), Arc::clone(&value)));
        self.state.metadata.insert(key, value);
    }

    pub(super) fn trim(&mut self, before: u64, kept: &[u64]) {
        self.note(|| Change::Trimmed { before, kept: kept.to_vec() });
        self.state.trim(before, kept);
    }

    /// Keeps a record, in place of what its task had.
    pub(super) fn put_task(&mut self, task: TaskId, record: TaskRecord) {
        let Some(ahead) = &mut self.ahead else { return self.state.tasks.put(task, record) };
        let before = self.state.tasks.get(&task).cloned();
        self.state.tasks.put(task.clone(), record);
        ahead.note_task(&task, before.as_ref(), &self.state.tasks);
    }

    /// Changes a record in its place; nothing where there is none.
    pub(super) fn change_task(&mut self, task: &TaskId, change: impl FnOnce(&mut TaskRecord)) {
        let Some(ahead) = &mut self.ahead else { return self.state.tasks.change(task, change) };
        let before = self.state.tasks.get(task).cloned();
        self.state.tasks.change(task, change);
        ahead.note_task(task, before.as_ref(), &self.state.tasks);
    }

    /// What is to be done again where this commit is lost, because what it says has happened all the same.
    pub(super) fn redo(&mut self, redo: impl FnOnce() -> Redo) {
        if let Some(ahead) = &mut self.ahead {
            ahead.redo_next(redo());
        }
    }

    fn note(&mut self, change: impl FnOnce() -> Change) {
        if let Some(ahead) = &mut self.ahead {
            ahead.note(change());
        }
    }
}

impl Ahead {
    /// Notes what a record is now; nothing where there is none.
    fn note_task(&mut self, task: &TaskId, before: Option<&TaskRecord>, records: &Records) {
        let Some(record) = records.get(task).cloned() else { return };
        let is_kept = |now: Option<&Arc<_>>, then: Option<&Arc<_>>| match (now, then) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
        let keeps_report = is_kept(record.report.as_ref(), before.and_then(|before| before.report.as_ref()));
        let keeps_late = is_kept(record.late.as_ref(), before.and_then(|before| before.late.as_ref()));
        let (task, record) = (task.clone(), Box::new(record));
        self.note(Change::Task(TaskChange { task, record, keeps_report, keeps_late }));
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            ahead.commit(self.state);
        }
    }
}

impl State {
    /// Makes a change that was made before.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Message(message) => self.push_message(message),
            Change::Artifact(artifact) => self.put_artifact(artifact),
            Change::Entry(key, entry) => self.set(key, entry),
            Change::Erased(key) => self.erase(&key),
            Change::Metadata(key, value) => _ = self.metadata.insert(key, value),
            Change::Task(change) => self.put_again(change),
            Change::Trimmed { before, kept } => self.trim(before, &kept),
        }
    }

    fn put_again(&mut self, change: TaskChange) {
        let TaskChange { task, mut record, keeps_report, keeps_late } = change;
        let before = self.tasks.get(&task);
        if keeps_report {
            record.report = before.and_then(|before| before.report.clone());
        }
        if keeps_late {
            record.late = before.and_then(|before| before.late.clone());
        }
        // A pause keeps no report of its own beside that of its record.
        if let Some(pause) = record.pause.take() {
            let report = record.report.clone();
            record.pause = Some(Arc::new(TaskRecord { report, ..Arc::unwrap_or_clone(pause) }));
        }
        self.tasks.put(task, *record);
    }

    fn push_message(&mut self, message: Arc<SessionMessage>) {
        self.last_sequence = message.sequence;
        self.bytes += message.message.size() as u64;
        self.messages.push_back(message);
    }

    fn put_artifact(&mut self, artifact: Arc<SessionArtifact>) {
        let key = (artifact.task.clone(), artifact.artifact.id.clone());
        self.bytes += artifact.artifact.size() as u64;
        if let Some(replaced) = self.artifacts.insert(key, artifact) {
            self.bytes -= replaced.artifact.size() as u64;
        }
    }

    fn set(&mut self, key: Arc<str>, entry: Arc<StateEntry>) {
        self.bytes += SessionUsage::entry(&key, &entry.value).bytes;
        if let Some(replaced) = self.shared.get(&key) {
            self.bytes -= SessionUsage::entry(&key, &replaced.value).bytes;
        }
        self.shared.insert(key, entry);
    }

    fn erase(&mut self, key: &str) {
        if let Some(erased) = self.shared.remove(key) {
            self.bytes -= SessionUsage::entry(key, &erased.value).bytes;
        }
    }

    fn trim(&mut self, before: u64, kept: &[u64]) {
        let mut older = Vec::with_capacity(kept.len());
        while let Some(message) = self.messages.pop_front() {
            if message.sequence >= before {
                self.messages.push_front(message);
                break;
            }
            if kept.binary_search(&message.sequence).is_ok() {
                older.push(message);
            } else {
                self.bytes -= message.message.size() as u64;
            }
        }
        for message in older.into_iter().rev() {
            self.messages.push_front(message);
        }
    }
}
