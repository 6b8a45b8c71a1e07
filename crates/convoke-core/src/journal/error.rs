//! Why a journal did not do as asked.

use std::{borrow::Cow, error::Error};

use super::Sequence;
use crate::LogId;

/// What a caller can do about a [`JournalError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JournalErrorKind {
    /// There is no such log. Create it.
    NotFound,
    /// There is such a log already. Claim it, or take another id.
    AlreadyExists,
    /// Another owns the log. Try again later.
    Claimed,
    /// The token is not that of the log's owner, or not any more. Nothing was done; stop what goes on under it.
    Fenced,
    /// The log does not end where the commit expects it to, or the commit's id stands for other records. Nothing was done.
    Conflict {
        /// The end of the log, commits under way counted in.
        next: Sequence,
    },
    /// What was asked for lies in records that are not kept.
    Compacted {
        /// From here on a [`ReadFrom::Record`](super::ReadFrom::Record) or
        /// [`ReadFrom::Before`](super::ReadFrom::Before) is answered.
        oldest: Sequence,
    },
    /// What is stored is not what was written. Nothing was changed; a person has to look.
    Damaged,
    /// A write of this claim failed, so that its later ones are refused. Claim the log again and repeat the commit under
    /// its id: the answer says whether it happened.
    Poisoned,
    /// A record, a commit, a snapshot or a signal is over a limit. Nothing was done.
    TooLarge,
    /// Too many signals wait. Nothing was done; try again once the owner has taken some.
    Full,
    /// The store did not answer as it should. The outcome is unknown; the same call again finds it out.
    Io,
}

/// A journal did not do as asked.
#[derive(Debug, thiserror::Error)]
#[error("{subject} {problem}")]
pub struct JournalError {
    kind: JournalErrorKind,
    subject: String,
    problem: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl JournalError {
    /// An error about a log. `problem` goes on where "log `x`" ends, in lower case, without a full stop, and says what
    /// to do: "is claimed by `host-2`; try again later".
    pub fn new(kind: JournalErrorKind, log: &LogId, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, subject: format!("log `{log}`"), problem: problem.into(), source: None }
    }

    /// An error about the journal as a whole, such as of a listing: `problem` goes on where "journal" ends.
    pub fn of_journal(kind: JournalErrorKind, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, subject: "journal".to_owned(), problem: problem.into(), source: None }
    }

    /// The log has to be created first.
    pub fn not_found(log: &LogId) -> Self {
        Self::new(JournalErrorKind::NotFound, log, "does not exist; create it first")
    }

    /// Says what lies beneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What can be done about it.
    pub fn kind(&self) -> JournalErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        use JournalErrorKind::{Claimed, Full, Io};
        matches!(self.kind, Claimed | Full | Io)
    }
}
