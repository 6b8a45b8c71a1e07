//! Why a session is not in its log.

use std::{fmt, sync::Arc};

use convoke_core::{ErrorCode, JournalError, JournalErrorKind, SessionId, TaskError, error_chain};

/// What a caller can do about a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another owns the log, and lives. Nothing was changed; use the session there, or try again later.
    Claimed,
    /// This process does not own the log any more: another has taken it, it was deleted, or the session was removed. Each
    /// later write is refused; load the session again.
    Ended,
    /// The log is damaged, or a later version of this crate wrote it. Nothing was changed.
    Unreadable,
    /// The journal did not answer as it should. Nothing is visible; whether the write happened is found out before the
    /// next one is decided, or when the session is loaded again.
    Failed,
}

/// What a session with a log did not do, because of the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session `{session}` {kind}: {reason}")]
pub struct StoreError {
    session: SessionId,
    kind: StoreErrorKind,
    reason: Arc<str>,
}

impl StoreError {
    pub(crate) fn new(session: &SessionId, kind: StoreErrorKind, reason: impl Into<Arc<str>>) -> Self {
        Self { session: session.clone(), kind, reason: reason.into() }
    }

    pub(crate) fn of_journal(session: &SessionId, error: &JournalError) -> Self {
        let kind = match error.kind() {
            JournalErrorKind::Claimed => StoreErrorKind::Claimed,
            JournalErrorKind::Fenced | JournalErrorKind::NotFound => StoreErrorKind::Ended,
            JournalErrorKind::Damaged | JournalErrorKind::Compacted { .. } => StoreErrorKind::Unreadable,
            _ => StoreErrorKind::Failed,
        };
        Self::new(session, kind, error_chain(error))
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// What can be done about it.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later. Read the session before: a write that failed may have happened.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Claimed | StoreErrorKind::Failed)
    }

    /// The error as a report carries it. What the journal said is for the caller alone.
    pub fn to_task_error(&self) -> TaskError {
        TaskError::new(ErrorCode::StoreFailed, format!("session `{}` {}", self.session, self.kind))
            .with_detail(String::from(&*self.reason))
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claimed => "is owned by another; use it there, or try again when that has ended",
            Self::Ended => "is no longer owned here; load it again",
            Self::Unreadable => "cannot be read from its log, which was left as it is",
            Self::Failed => "was not recorded; read it before you repeat what may have happened",
        })
    }
}
