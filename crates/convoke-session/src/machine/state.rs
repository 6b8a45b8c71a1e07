//! What readers see: persistent collections, so that a copy shares all but what changes afterwards.

#[cfg(test)]
mod tests;

use std::{mem, ops::Deref, sync::Arc};

use imbl::{OrdMap, Vector};
use serde_json::Value;

use convoke_core::{ArtifactId, SessionId, TaskId};

use super::records::Records;
use crate::{SessionArtifact, SessionMessage, SessionUsage, StateEntry};

/// One revision of a session.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) id: SessionId,
    pub(crate) revision: u64,
    /// In the order of their sequence numbers, which have gaps after a trim.
    pub(crate) messages: Vector<Arc<SessionMessage>>,
    pub(crate) artifacts: OrdMap<(TaskId, ArtifactId), Arc<SessionArtifact>>,
    pub(crate) shared: OrdMap<Arc<str>, Arc<StateEntry>>,
    pub(crate) tasks: Records,
    pub(crate) metadata: OrdMap<Arc<str>, Arc<Value>>,
    pub(crate) last_sequence: u64,
    pub(crate) bytes: u64,
}

/// The state as its session has it.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a session, and most sessions end before a snapshot would need it elsewhere"
)]
pub(super) enum Current {
    /// No snapshot was taken so far.
    Own(State),
    /// Shared with the snapshots; the next change makes its own copy where one still holds it.
    Shared(Arc<State>),
}

impl Current {
    /// For a snapshot.
    pub(super) fn share(&mut self) -> Arc<State> {
        let shared = match self {
            Self::Own(state) => Arc::new(mem::replace(state, State::new(state.id.clone()))),
            Self::Shared(state) => return Arc::clone(state),
        };
        *self = Self::Shared(Arc::clone(&shared));
        shared
    }

    pub(super) fn get_mut(&mut self) -> &mut State {
        match self {
            Self::Own(state) => state,
            Self::Shared(state) => Arc::make_mut(state),
        }
    }
}

impl Deref for Current {
    type Target = State;

    fn deref(&self) -> &State {
        match self {
            Self::Own(state) => state,
            Self::Shared(state) => state,
        }
    }
}

impl State {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            revision: 0,
            messages: Vector::new(),
            artifacts: OrdMap::new(),
            shared: OrdMap::new(),
            tasks: Records::new(),
            metadata: OrdMap::new(),
            last_sequence: 0,
            bytes: 0,
        }
    }

    pub(crate) fn usage(&self) -> SessionUsage {
        SessionUsage {
            messages: self.messages.len() as u64,
            bytes: self.bytes,
            artifacts: self.artifacts.len() as u64,
        }
    }
}
