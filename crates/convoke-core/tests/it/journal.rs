//! The words of a journal. What a journal does with them is a suite of `convoke-testkit`.

use std::error::Error as _;

use convoke_core::{Commit, CommitId, FencingToken, JournalError, JournalErrorKind, LogId, Record, Sequence};

#[test]
fn a_commit_ends_behind_its_records() {
    let commit = Commit::new(CommitId::new("c").unwrap(), FencingToken::FIRST, Sequence::new(4));
    assert_eq!(commit.next(), Sequence::new(4));
    let commit = commit.with_record("one").with_records(["two", "three"]);
    assert_eq!(commit.next(), Sequence::new(7));
    assert_eq!(Sequence::new(u64::MAX - 1).after(3), Sequence::new(u64::MAX), "saturates");
}

#[test]
fn a_record_does_not_show_its_bytes_by_accident() {
    let record = Record::from("a secret");
    assert_eq!(format!("{record:?}"), "Record(8 bytes)");
    assert_eq!((record.to_text().as_str(), record.len(), record.is_empty()), ("a secret", 8, false));
}

#[test]
fn an_error_names_its_log_and_says_its_source_once() {
    let log = LogId::new("plan/7").unwrap();
    let error = JournalError::new(JournalErrorKind::Damaged, &log, "is damaged at byte 12; look at it")
        .with_source("checksum differs");
    assert_eq!(error.to_string(), "log `plan/7` is damaged at byte 12; look at it");
    assert_eq!(error.source().unwrap().to_string(), "checksum differs");
    assert_eq!(
        JournalError::of_journal(JournalErrorKind::Io, "cannot be listed").to_string(),
        "journal cannot be listed"
    );
}

#[test]
fn what_may_pass_by_itself_is_retryable() {
    fn check(kind: JournalErrorKind, expected: bool) {
        let error = JournalError::of_journal(kind, "is odd");
        assert_eq!((error.kind(), error.is_retryable()), (kind, expected));
    }
    check(JournalErrorKind::Claimed, true);
    check(JournalErrorKind::Full, true);
    check(JournalErrorKind::Io, true);
    check(JournalErrorKind::Fenced, false);
    check(JournalErrorKind::Poisoned, false);
    check(JournalErrorKind::Conflict { next: Sequence::START }, false);
    check(JournalErrorKind::Compacted { oldest: Sequence::START }, false);
}
