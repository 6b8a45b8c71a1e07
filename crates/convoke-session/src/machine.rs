//! All decisions of a session: a plain value whose methods check and change it, without lock, I/O or clock.
//!
//! Each method checks everything first and then changes everything, so that a refusal leaves no trace. What readers
//! see is the [`State`]; what is accepted but not yet visible (input that waits for its start, staged output) is kept
//! with its open attempt, and its room is set aside.

mod admit;
mod ahead;
mod change;
mod open;
mod open_attempts;
mod reconcile;
mod records;
mod recover;
mod settle;
mod shared;
mod state;
mod trim;

use std::sync::Arc;

pub(crate) use admit::{Answer, Opened};
use ahead::Ahead;
pub(crate) use ahead::{Recorded, Waiter};
use change::Edit;
pub(crate) use change::{Change, TaskChange};
use open_attempts::OpenAttempts;
use serde_json::Value;

use convoke_core::{Artifact, Message, MessageId, SessionId, json_is_too_deep};
pub(crate) use settle::Publication;
pub(crate) use shared::When;
use state::Current;
pub(crate) use state::State;

use crate::{
    Author, Limit, LimitKind, Oversized, SessionActivity, SessionError, SessionLimits, SessionUsage,
    StoreError, attempt::AttemptKey,
};

/// Who asks for a write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writer<'a> {
    /// The owner of the session.
    Host,
    /// An attempt, as long as it is being worked on.
    Attempt(&'a AttemptKey),
}

/// A session without its lock.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: SessionLimits,
    state: Current,
    open: OpenAttempts,
    /// The room that the open attempts hold together.
    reserved: SessionUsage,
    /// Of a session with a log.
    ahead: Option<Box<Ahead>>,
}

impl Machine {
    pub(crate) fn new(id: SessionId, limits: SessionLimits) -> Self {
        Self {
            limits,
            state: Current::Own(State::new(id)),
            open: OpenAttempts::default(),
            reserved: SessionUsage::default(),
            ahead: None,
        }
    }

    pub(crate) fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// What readers see now, as a value.
    pub(crate) fn snapshot(&mut self) -> Arc<State> {
        match &self.ahead {
            Some(ahead) => Arc::clone(ahead.visible()),
            None => self.state.share(),
        }
    }

    /// What the next decision sees.
    pub(crate) fn head(&mut self) -> Arc<State> {
        self.state.share()
    }

    pub(crate) fn activity(&self) -> SessionActivity {
        match &self.ahead {
            Some(ahead) => ahead.visible().tasks.activity(),
            None => self.state.tasks.activity(),
        }
    }

    pub(crate) fn post(&mut self, message: Message) -> Result<MessageId, SessionError> {
        self.check_open()?;
        let size = self.check_message(&message)?;
        self.check_room(SessionUsage::default(), SessionUsage::message(size))?;
        let id = MessageId::of_host(self.state.last_sequence + 1);
        self.commit().push_message(id.clone(), Author::Host, message);
        Ok(id)
    }

    pub(crate) fn set_metadata(&mut self, key: &str, value: Value) -> Result<(), SessionError> {
        self.check_open()?;
        if key.is_empty() {
            return Err(SessionError::EmptyKey);
        }
        check_depth(Some(&value), || Oversized::Metadata(key.to_owned()))?;
        self.commit().set_metadata(Arc::from(key), value);
        Ok(())
    }

    /// The state as the next revision, ready to be changed.
    fn commit(&mut self) -> Edit<'_> {
        Edit::new(self.state.get_mut(), self.ahead.as_deref_mut())
    }

    /// Whether anything is decided now: not while it is unknown what is in the log.
    fn check_open(&self) -> Result<(), StoreError> {
        self.ahead.as_ref().map_or(Ok(()), |ahead| ahead.check())
    }

    fn check_message(&self, message: &Message) -> Result<u64, SessionError> {
        check_depth(message.data.as_ref(), || Oversized::Message)?;
        self.check_value(message.size(), || Oversized::Message)
    }

    fn check_artifact(&self, artifact: &Artifact) -> Result<u64, SessionError> {
        check_depth(artifact.data.as_ref(), || Oversized::Artifact(artifact.id.clone()))?;
        self.check_value(artifact.size(), || Oversized::Artifact(artifact.id.clone()))
    }

    fn check_value(&self, size: usize, what: impl FnOnce() -> Oversized) -> Result<u64, SessionError> {
        let bytes = size as u64;
        match self.limits.value_bytes {
            Limit::Finite(limit) if bytes > limit => {
                Err(SessionError::TooLarge { what: what(), bytes, limit })
            }
            _ => Ok(bytes),
        }
    }

    /// Whether `needed` fits beside all that is there and set aside, once `freed` is gone.
    fn check_room(&self, freed: SessionUsage, needed: SessionUsage) -> Result<(), SessionError> {
        let taken = self.state.usage().plus(self.reserved).minus(freed);
        let check = |what, limit, taken, needed| {
            let Limit::Finite(limit) = limit else { return Ok(()) };
            let left = limit.saturating_sub(taken);
            if needed > left {
                return Err(SessionError::Full { session: self.state.id.clone(), what, limit, left, needed });
            }
            Ok(())
        };
        let limits = &self.limits;
        check(LimitKind::Messages, limits.messages, taken.messages, needed.messages)?;
        check(LimitKind::Bytes, limits.bytes, taken.bytes, needed.bytes)?;
        check(LimitKind::Artifacts, limits.artifacts, taken.artifacts, needed.artifacts)
    }
}

/// Asked before the size, which looks at every level.
fn check_depth(data: Option<&Value>, what: impl FnOnce() -> Oversized) -> Result<(), SessionError> {
    match data {
        Some(data) if json_is_too_deep(data) => Err(SessionError::TooDeep { what: what() }),
        _ => Ok(()),
    }
}
