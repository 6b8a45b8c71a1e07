//! The refusals that both journals give.

use convoke_core::{FencingToken, JournalError, JournalErrorKind, LogId, OwnerId, Sequence};

pub(crate) fn fenced(log: &LogId, token: FencingToken) -> JournalError {
    let problem = format!("is not held under token {token}, or not any more; claim it again");
    JournalError::new(JournalErrorKind::Fenced, log, problem)
}

pub(crate) fn claimed(log: &LogId, owner: Option<&OwnerId>) -> JournalError {
    let problem = match owner {
        Some(owner) => format!("is claimed by `{owner}`; try again once it is released"),
        None => "is claimed by another process; try again once it is released".to_owned(),
    };
    JournalError::new(JournalErrorKind::Claimed, log, problem)
}

pub(crate) fn already_exists(log: &LogId) -> JournalError {
    JournalError::new(JournalErrorKind::AlreadyExists, log, "exists already; claim it, or take another id")
}

pub(crate) fn compacted(log: &LogId, asked: Sequence, oldest: Sequence) -> JournalError {
    let problem = format!("keeps nothing of record {asked}; the oldest record that it keeps is {oldest}");
    JournalError::new(JournalErrorKind::Compacted { oldest }, log, problem)
}
