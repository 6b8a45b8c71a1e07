//! What a session refuses. Whatever is refused has changed nothing.

mod admission;
mod reconcile;
mod settle;
mod store;

use std::fmt;

pub use admission::AdmissionError;
use convoke_core::{ArtifactId, MAX_JSON_DEPTH, SessionId, TaskId};
pub use reconcile::ReconcileError;
pub use settle::{SettleError, SettleProblem};
pub use store::{StoreError, StoreErrorKind};

use crate::{Expected, LimitKind};

/// A write that the session refused; it changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The attempt that the handle belongs to has ended.
    #[error("attempt {attempt} of task `{task}` has ended; write before its executor returns")]
    Revoked {
        /// The task.
        task: TaskId,
        /// The attempt that has ended.
        attempt: u32,
    },
    /// No room is left.
    #[error(
        "session `{session}` has {left} of {limit} {what} left and {needed} are needed; {}, or raise `SessionLimits::{what}`",
        what.way_out()
    )]
    Full {
        /// The session.
        session: SessionId,
        /// What it has too little of.
        what: LimitKind,
        /// The limit.
        limit: u64,
        /// How much is left, without what is set aside for work that was already accepted.
        left: u64,
        /// How much the write needs.
        needed: u64,
    },
    /// One message, artifact or value is too large, whatever room there is.
    #[error("{what} has {bytes} bytes, {limit} are allowed; split it, or raise `SessionLimits::value_bytes`")]
    TooLarge {
        /// What is too large.
        what: Oversized,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Data nests more than [`MAX_JSON_DEPTH`] deep.
    #[error("{what} nests more than {MAX_JSON_DEPTH} levels deep; flatten it")]
    TooDeep {
        /// What nests too deep.
        what: Oversized,
    },
    /// The shared state and the metadata take no empty key.
    #[error("key is empty; name the value")]
    EmptyKey,
    /// Somebody else wrote the key in between.
    #[error("`{key}` is {actual}, not {expected}; read it again, or use `update`")]
    Conflict {
        /// The key.
        key: String,
        /// What the writer expected.
        expected: Expected,
        /// What was there.
        actual: Expected,
    },
    /// The log of the session did not take the write.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionError {
    /// Whether the same call may succeed later without a change of limits or of the value: a conflict does, once the
    /// key was read again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Conflict { .. } => true,
            Self::Store(error) => error.is_retryable(),
            _ => false,
        }
    }
}

/// What is larger than [`SessionLimits::value_bytes`](crate::SessionLimits::value_bytes), or nests deeper than
/// [`MAX_JSON_DEPTH`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oversized {
    /// A message.
    Message,
    /// This artifact.
    Artifact(ArtifactId),
    /// The value of this key of the shared state.
    State(String),
    /// The value of this key of the metadata.
    Metadata(String),
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message => f.write_str("message"),
            Self::Artifact(id) => write!(f, "artifact `{id}`"),
            Self::State(key) | Self::Metadata(key) => write!(f, "value of `{key}`"),
        }
    }
}
