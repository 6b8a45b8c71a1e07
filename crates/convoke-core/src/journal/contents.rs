//! What is read from a log.

use super::{Record, Sequence};

/// What a log comes to at some record, in the words of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The first record that it does not cover: the end of the log when it was made.
    pub upto: Sequence,
    /// What it says.
    pub records: Vec<Record>,
}

impl Snapshot {
    /// A snapshot of all records before `upto`.
    pub fn new(upto: Sequence, records: impl IntoIterator<Item = impl Into<Record>>) -> Self {
        Self { upto, records: records.into_iter().map(Into::into).collect() }
    }
}

/// Where reading begins; it ends at the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadFrom {
    /// The newest snapshot and what follows it: what it takes to go on.
    Latest,
    /// The newest snapshot that covers no record from this one on, and what follows it: what it takes to know the state
    /// there, for a fork. Compacted where no such snapshot is kept, nor the start of the log.
    Before(Sequence),
    /// This record, without a snapshot, for who follows a log. Compacted where it is not kept; nothing where it is the
    /// end of the log or lies beyond.
    Record(Sequence),
}

/// What a log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// The snapshot, where one was asked for and exists.
    pub snapshot: Option<Snapshot>,
    /// The place of the first of the records, and the end of the log where there is none.
    pub first: Sequence,
    /// The records from there to the end of the log.
    pub records: Vec<Record>,
    /// The end of the log: the place that the next record gets.
    pub next: Sequence,
}

impl LogContents {
    /// A log that has these records from `first` to its end.
    pub fn new(first: Sequence, records: Vec<Record>) -> Self {
        let next = first.after(records.len());
        Self { snapshot: None, first, records, next }
    }

    /// Puts a snapshot before the records.
    #[must_use]
    pub fn with_snapshot(mut self, snapshot: Snapshot) -> Self {
        self.snapshot = Some(snapshot);
        self
    }
}
