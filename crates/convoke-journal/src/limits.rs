//! How large things may be.

use convoke_core::{Commit, JournalError, JournalErrorKind, LogId, Record, Sequence, Signal, Snapshot};

/// The most bytes of one commit, records and ids together: 64 MiB.
pub const MAX_COMMIT_BYTES: usize = 64 << 20;

/// The most bytes of one snapshot: 1 GiB.
pub const MAX_SNAPSHOT_BYTES: usize = 1 << 30;

/// The most bytes that one signal may say: 1 MiB.
pub const MAX_SIGNAL_BYTES: usize = 1 << 20;

/// The most signals of a log that may wait: 1,024. Signals that several processes send at the same moment may go a few
/// over it.
pub const MAX_WAITING_SIGNALS: usize = 1_024;

/// How many of its latest commits, and of the signals that were taken last, a log remembers: 1,024 each.
pub const REMEMBERED: usize = 1_024;

/// What the lengths around a record, or an id, come to at most.
const OVERHEAD: usize = 8;

pub(crate) fn record_bytes(records: &[Record]) -> usize {
    records.iter().map(|record| record.len() + OVERHEAD).sum()
}

pub(crate) fn check_commit(log: &LogId, commit: &Commit) -> Result<(), JournalError> {
    let taken: usize = commit.taken.iter().map(|id| id.as_str().len() + OVERHEAD).sum();
    check(log, "commit", commit.id.as_str(), record_bytes(&commit.records) + taken, MAX_COMMIT_BYTES)
}

pub(crate) fn check_snapshot(log: &LogId, snapshot: &Snapshot) -> Result<(), JournalError> {
    check(log, "snapshot", &snapshot.upto.to_string(), record_bytes(&snapshot.records), MAX_SNAPSHOT_BYTES)
}

pub(crate) fn check_signal(log: &LogId, signal: &Signal) -> Result<(), JournalError> {
    check(log, "signal", signal.id.as_str(), signal.body.len(), MAX_SIGNAL_BYTES)
}

pub(crate) fn check_waiting(log: &LogId, waiting: usize) -> Result<(), JournalError> {
    if waiting < MAX_WAITING_SIGNALS {
        return Ok(());
    }
    let problem = format!("has {waiting} signals that nobody took; let its owner take some first");
    Err(JournalError::new(JournalErrorKind::Full, log, problem))
}

/// Whether so many records at `at` leave a number for the place behind them.
pub(crate) fn is_room(at: Sequence, records: usize) -> bool {
    u64::try_from(records).is_ok_and(|records| at.get().checked_add(records).is_some())
}

pub(crate) fn check_room(log: &LogId, at: Sequence, records: usize) -> Result<(), JournalError> {
    if is_room(at, records) {
        return Ok(());
    }
    let problem = format!("ends at {at}, with too few numbers left for this commit; begin another log");
    Err(JournalError::new(JournalErrorKind::TooLarge, log, problem))
}

fn check(log: &LogId, what: &str, id: &str, bytes: usize, most: usize) -> Result<(), JournalError> {
    if bytes <= most {
        return Ok(());
    }
    let problem =
        format!("was given {what} `{id}` of {bytes} bytes; at most {most} are allowed, so split it");
    Err(JournalError::new(JournalErrorKind::TooLarge, log, problem))
}

#[cfg(test)]
mod tests;
