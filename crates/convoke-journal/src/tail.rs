//! The end of a log: which commit may follow, and which one is a repeat.

use convoke_core::{
    Commit, CommitId, Committed, JournalError, JournalErrorKind, LogId, Record, Sequence, SignalId,
};
use xxhash_rust::xxh3::Xxh3;

use crate::{REMEMBERED, limits, recent::Recent};

/// What a log knows of its end. A plain value: no clock, no lock, no I/O.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) next: Sequence,
    pub(crate) commits: Recent<CommitId, Written>,
    pub(crate) taken: Recent<SignalId, ()>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) first: Sequence,
    pub(crate) next: Sequence,
    /// Of what it says, to know a repeat from another commit under the same id.
    pub(crate) digest: u64,
}

impl Written {
    pub(crate) fn committed(self) -> Committed {
        Committed::new(self.first, self.next)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// It is now the end of the log, and has to be written.
    New(Written),
    /// It is in the log, or under way.
    Repeat(Written),
}

impl Tail {
    pub(crate) fn new(next: Sequence) -> Self {
        Self { next, commits: Recent::new(REMEMBERED), taken: Recent::new(REMEMBERED) }
    }

    /// Puts a commit at the end, or refuses it and changes nothing. The token is the caller's to check.
    pub(crate) fn admit(&mut self, log: &LogId, commit: &Commit) -> Result<Admitted, JournalError> {
        let digest = digest(&commit.records, &commit.taken);
        if let Some(&written) = self.commits.get(&commit.id) {
            return if written.digest == digest {
                Ok(Admitted::Repeat(written))
            } else {
                let id = &commit.id;
                Err(self.conflict(
                    log,
                    format!("has a commit `{id}` that says something else; give this one an id of its own"),
                ))
            };
        }
        self.check_end(log, commit.expected)?;
        limits::check_room(log, self.next, commit.records.len())?;
        Ok(Admitted::New(self.extend(commit.id.clone(), &commit.records, &commit.taken)))
    }

    /// Refuses what does not go on where the log ends.
    pub(crate) fn check_end(&self, log: &LogId, expected: Sequence) -> Result<(), JournalError> {
        if expected == self.next {
            return Ok(());
        }
        let problem = format!("ends at {}, not at {expected}; read it again from there", self.next);
        Err(self.conflict(log, problem))
    }

    fn conflict(&self, log: &LogId, problem: String) -> JournalError {
        JournalError::new(JournalErrorKind::Conflict { next: self.next }, log, problem)
    }

    /// Puts a commit at the end that is known to belong there.
    pub(crate) fn extend(&mut self, id: CommitId, records: &[Record], taken: &[SignalId]) -> Written {
        let first = self.next;
        let next = first.after(records.len());
        let written = Written { first, next, digest: digest(records, taken) };
        self.next = next;
        self.commits.insert(id, written);
        for signal in taken {
            self.taken.insert(signal.clone(), ());
        }
        written
    }
}

fn digest(records: &[Record], taken: &[SignalId]) -> u64 {
    let mut digest = Xxh3::new();
    let mut part = |bytes: &[u8]| {
        // The length keeps `ab`, `c` from being `a`, `bc`.
        digest.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(bytes);
    };
    for record in records {
        part(record.as_bytes());
    }
    // No id is empty: what follows is no record.
    part(&[]);
    for id in taken {
        part(id.as_str().as_bytes());
    }
    digest.digest()
}
