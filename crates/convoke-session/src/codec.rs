//! The records of a session's log: one JSON document a commit, each with the version of its format.

mod document;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use convoke_core::{LogContents, Record, SessionId};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    StoreError, StoreErrorKind,
    codec::document::{ChangeDocument, CommitDocument, HeadDocument},
    machine::{Change, State, TaskChange},
};

/// The format that is written. An earlier one is read as well, a later one is refused.
const VERSION: u32 = 1;

/// A commit that raised the session to `revision`.
pub(crate) fn encode(session: &SessionId, revision: u64, changes: &[Change]) -> Result<Record, StoreError> {
    let changes = changes.iter().map(ChangeDocument::from).collect();
    write(session, &CommitDocument { version: VERSION, revision, changes })
}

/// A session as it is: a record for what it is as a whole, then one for each thing in it.
pub(crate) fn encode_snapshot(state: &State) -> Result<Vec<Record>, StoreError> {
    let head = HeadDocument {
        version: VERSION,
        session: state.id.clone(),
        revision: state.revision,
        last_sequence: state.last_sequence,
    };
    let mut records = vec![write(&state.id, &head)?];
    for change in contents(state) {
        records.push(write(&state.id, &ChangeDocument::from(&change))?);
    }
    Ok(records)
}

/// The session that a log has.
pub(crate) fn decode(session: &SessionId, contents: &LogContents) -> Result<State, StoreError> {
    let mut state = State::new(session.clone());
    if let Some((head, changes)) =
        contents.snapshot.as_ref().and_then(|snapshot| snapshot.records.split_first())
    {
        check_version(session, head)?;
        let HeadDocument { session: owner, revision, last_sequence, .. } = read(session, head)?;
        if owner != *session {
            return Err(unreadable(session, format!("it is that of session `{owner}`")));
        }
        for change in changes {
            state.apply(read::<ChangeDocument<'_>>(session, change)?.into_change());
        }
        state.revision = revision;
        state.last_sequence = last_sequence;
    }
    for record in &contents.records {
        check_version(session, record)?;
        let CommitDocument { revision, changes, .. } = read(session, record)?;
        for change in changes {
            state.apply(change.into_change());
        }
        state.revision = revision;
    }
    Ok(state)
}

/// The changes that make a state from an empty one.
pub(crate) fn contents(state: &State) -> impl Iterator<Item = Change> {
    let messages = state.messages.iter().map(|message| Change::Message(Arc::clone(message)));
    let artifacts = state.artifacts.values().map(|artifact| Change::Artifact(Arc::clone(artifact)));
    let shared = state.shared.iter().map(|(key, entry)| Change::Entry(Arc::clone(key), Arc::clone(entry)));
    let metadata =
        state.metadata.iter().map(|(key, value)| Change::Metadata(Arc::clone(key), Arc::clone(value)));
    let tasks = state.tasks.iter().map(|(task, record)| {
        let (task, record) = (task.clone(), Box::new(record.clone()));
        Change::Task(TaskChange { task, record, keeps_report: false, keeps_late: false })
    });
    messages.chain(artifacts).chain(shared).chain(metadata).chain(tasks)
}

fn write(session: &SessionId, document: &impl serde::Serialize) -> Result<Record, StoreError> {
    let bytes = serde_json::to_vec(document)
        .map_err(|error| StoreError::new(session, StoreErrorKind::Failed, error.to_string()))?;
    Ok(Record::new(bytes))
}

fn read<T: DeserializeOwned>(session: &SessionId, record: &Record) -> Result<T, StoreError> {
    serde_json::from_slice(record.as_bytes())
        .map_err(|error| unreadable(session, format!("a record of it is malformed: {error}")))
}

/// Before the rest, which a later version may have in another form.
fn check_version(session: &SessionId, record: &Record) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct Version {
        #[serde(rename = "v")]
        version: u32,
    }
    match read(session, record)? {
        Version { version } if version > VERSION => Err(unreadable(
            session,
            format!("a record of it has version {version}, and {VERSION} is the latest known here"),
        )),
        _ => Ok(()),
    }
}

fn unreadable(session: &SessionId, reason: String) -> StoreError {
    StoreError::new(session, StoreErrorKind::Unreadable, reason)
}
