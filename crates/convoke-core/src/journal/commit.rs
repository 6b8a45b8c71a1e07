//! What an owner appends at once.

use super::{FencingToken, Record, Sequence};
use crate::{CommitId, SignalId};

/// How far a commit has come when it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It survives a loss of power.
    #[default]
    Strict,
    /// It has its place in the log and can be read. The end of the process may lose it, together with all relaxed ones
    /// behind it and none before it.
    Relaxed,
}

/// Records that become part of a log together, or not at all.
///
/// ```
/// use convoke_core::{Commit, CommitId, FencingToken, Sequence};
///
/// # fn main() -> Result<(), convoke_core::IdError> {
/// let commit = Commit::new(CommitId::new("start-of-b")?, FencingToken::FIRST, Sequence::new(4))
///     .with_record("a completed")
///     .with_record("b started");
/// assert_eq!(commit.next(), Sequence::new(6));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// Under which a repeat changes nothing. Never used for other records of the same log.
    pub id: CommitId,
    /// The claim under which it is written.
    pub token: FencingToken,
    /// The place of its first record: the end of the log as its owner knows it.
    pub expected: Sequence,
    /// The records; there may be none.
    pub records: Vec<Record>,
    /// The signals that it takes: none of them is told again once the commit is durable.
    pub taken: Vec<SignalId>,
    /// When it is answered; [`Durability::Strict`] unless set.
    pub durability: Durability,
}

impl Commit {
    /// A strict commit without records.
    pub fn new(id: CommitId, token: FencingToken, expected: Sequence) -> Self {
        Self { id, token, expected, records: vec![], taken: vec![], durability: Durability::Strict }
    }

    /// Adds a record.
    #[must_use]
    pub fn with_record(mut self, record: impl Into<Record>) -> Self {
        self.records.push(record.into());
        self
    }

    /// Adds records.
    #[must_use]
    pub fn with_records(mut self, records: impl IntoIterator<Item = impl Into<Record>>) -> Self {
        self.records.extend(records.into_iter().map(Into::into));
        self
    }

    /// Takes a signal.
    #[must_use]
    pub fn taking(mut self, signal: SignalId) -> Self {
        self.taken.push(signal);
        self
    }

    /// Lets it be answered before it is durable.
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        self.durability = Durability::Relaxed;
        self
    }

    /// The end of the log once it is written: what the next commit expects.
    pub fn next(&self) -> Sequence {
        self.expected.after(self.records.len())
    }
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The place of its first record.
    pub first: Sequence,
    /// The end of the log behind it. What was appended since lies further on.
    pub next: Sequence,
    /// The records since the last snapshot have outgrown it: a [`compact`](super::Journal::compact) pays now.
    pub compaction_due: bool,
}

impl Committed {
    /// A commit from `first` to before `next`.
    pub fn new(first: Sequence, next: Sequence) -> Self {
        Self { first, next, compaction_due: false }
    }

    /// Says that a compaction pays.
    #[must_use]
    pub fn with_compaction_due(mut self) -> Self {
        self.compaction_due = true;
        self
    }
}
