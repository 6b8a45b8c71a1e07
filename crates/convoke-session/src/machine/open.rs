//! Attempts that have not ended: what they hold, and the part of their life between admission and settlement.

use std::mem;

use convoke_core::{Artifact, AttemptPart, Message, MessageId, TaskId, TaskStatus};

use super::{Machine, Writer};
use crate::{
    Author, SessionError, SessionUsage, StoreError,
    attempt::{AttemptKey, Worker},
};

/// An attempt that has not ended.
#[derive(Debug)]
pub(super) struct OpenAttempt {
    pub(super) attempt: u32,
    /// The room that is set aside for it.
    pub(super) reserved: SessionUsage,
    pub(super) phase: Phase,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Submitted.
    Waiting(Waiting),
    /// An executor has it.
    Working(Working),
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) author: Author,
    pub(super) input: Vec<Message>,
}

/// What an executor has staged, in its order.
#[derive(Debug, Default)]
pub(super) struct Working {
    pub(super) messages: Vec<(MessageId, Message)>,
    pub(super) artifacts: Vec<Artifact>,
}

impl Working {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.artifacts.is_empty()
    }
}

impl OpenAttempt {
    pub(super) fn status(&self) -> TaskStatus {
        match self.phase {
            Phase::Waiting(_) => TaskStatus::Submitted,
            Phase::Working(_) => TaskStatus::Working,
        }
    }

    /// The messages that it may yet publish.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        let (input, staged) = match &self.phase {
            Phase::Waiting(waiting) => (waiting.input.as_slice(), [].as_slice()),
            Phase::Working(working) => ([].as_slice(), working.messages.as_slice()),
        };
        input.iter().chain(staged.iter().map(|(_, message)| message))
    }
}

impl Machine {
    pub(crate) fn is_working(&self, key: &AttemptKey) -> bool {
        self.open_attempt(key).is_some_and(|open| open.status() == TaskStatus::Working)
    }

    /// Working, with its input in the session, in one commit; nothing where it has started or ended already, or where
    /// nothing is decided now.
    pub(crate) fn start(&mut self, key: &AttemptKey, worker: &Worker) -> Result<(), StoreError> {
        self.check_open()?;
        let Some(open) = self.open.get_mut(&key.task).filter(|open| open.attempt == key.attempt) else {
            return Ok(());
        };
        let Phase::Waiting(waiting) = &mut open.phase else { return Ok(()) };
        let Waiting { author, input } = mem::take(waiting);
        open.phase = Phase::Working(Working::default());
        self.reserved = self.reserved.minus(mem::take(&mut open.reserved));

        let mut edit = self.commit();
        // A coordinated attempt hands its input on, in the tasks that it makes of it.
        if let Worker::Agent(_) = worker {
            for (index, message) in input.into_iter().enumerate() {
                let id = MessageId::of_attempt(&key.task, key.attempt, AttemptPart::Input(index));
                edit.push_message(id, author.clone(), message);
            }
        }
        edit.change_task(&key.task, |record| {
            record.status = TaskStatus::Working;
            record.agent = worker.agent().cloned();
            record.pause = None;
        });
        Ok(())
    }

    /// Keeps a message for the commit; its id is the one that it will have.
    pub(crate) fn stage_message(
        &mut self,
        key: &AttemptKey,
        message: Message,
    ) -> Result<MessageId, SessionError> {
        self.check_writer(Writer::Attempt(key))?;
        let size = self.check_message(&message)?;
        let working = self.reserve(key, SessionUsage::message(size))?;
        let id = staged_message_id(&key.task, key.attempt, working.messages.len());
        working.messages.push((id.clone(), message));
        Ok(id)
    }

    /// Keeps an artifact for the commit.
    pub(crate) fn stage_artifact(
        &mut self,
        key: &AttemptKey,
        artifact: Artifact,
    ) -> Result<(), SessionError> {
        self.check_writer(Writer::Attempt(key))?;
        let size = self.check_artifact(&artifact)?;
        // What it replaces is its task's own and stays as it is until then, so only growth needs room.
        let replaced = self.artifact_usage(&key.task, &artifact);
        let working = self.reserve(key, SessionUsage::artifact(size).minus(replaced))?;
        working.artifacts.push(artifact);
        Ok(())
    }

    pub(super) fn check_writer(&self, writer: Writer<'_>) -> Result<(), SessionError> {
        match writer {
            Writer::Attempt(key) if !self.is_working(key) => Err(revoked(key)),
            _ => Ok(()),
        }
    }

    pub(super) fn open_attempt(&self, key: &AttemptKey) -> Option<&OpenAttempt> {
        self.open.get(&key.task).filter(|open| open.attempt == key.attempt)
    }

    /// What an artifact of the same task and id takes now.
    pub(super) fn artifact_usage(&self, task: &TaskId, artifact: &Artifact) -> SessionUsage {
        let key = (task.clone(), artifact.id.clone());
        let found = self.state.artifacts.get(&key);
        found.map_or(SessionUsage::default(), |found| SessionUsage::artifact(found.artifact.size() as u64))
    }

    /// Sets room aside for what an attempt stages.
    fn reserve(&mut self, key: &AttemptKey, needed: SessionUsage) -> Result<&mut Working, SessionError> {
        self.check_room(SessionUsage::default(), needed)?;
        let open = self.open.get_mut(&key.task);
        let Some(OpenAttempt { reserved, phase: Phase::Working(working), .. }) = open else {
            return Err(revoked(key));
        };
        self.reserved = self.reserved.plus(needed);
        *reserved = reserved.plus(needed);
        Ok(working)
    }
}

fn revoked(key: &AttemptKey) -> SessionError {
    SessionError::Revoked { task: key.task.clone(), attempt: key.attempt }
}

/// The id of what an attempt posts or adds to its answer, which has the first place for itself.
pub(super) fn staged_message_id(task: &TaskId, attempt: u32, index: usize) -> MessageId {
    MessageId::of_attempt(task, attempt, AttemptPart::Output(index + 1))
}
