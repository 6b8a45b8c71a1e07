//! What is too large, and what is said about it.

use convoke_core::{
    Commit, CommitId, FencingToken, JournalErrorKind, LogId, Record, Sequence, Signal, SignalId, Snapshot,
};

use super::{
    MAX_COMMIT_BYTES, MAX_SIGNAL_BYTES, MAX_SNAPSHOT_BYTES, OVERHEAD, check_commit, check_room, check_signal,
    check_snapshot,
};

fn log() -> LogId {
    LogId::new("log").unwrap()
}

/// So many bytes, each record counted with what is around it; cheap, as the records share their bytes.
fn records(bytes: usize) -> Vec<Record> {
    let sixteenth = Record::from(vec![0; bytes / 16 - OVERHEAD]);
    vec![sixteenth; 16]
}

fn commit(bytes: usize) -> Commit {
    let id = CommitId::new("c").unwrap();
    Commit::new(id, FencingToken::FIRST, Sequence::START).with_records(records(bytes))
}

#[test]
fn what_is_just_as_large_as_may_be_is_taken_and_one_byte_more_is_not() {
    let signal = |bytes| Signal::new(SignalId::new("s").unwrap(), vec![0; bytes]);
    let snapshot = |bytes| Snapshot::new(Sequence::new(4), records(bytes));
    assert!(check_commit(&log(), &commit(MAX_COMMIT_BYTES)).is_ok());
    assert!(check_snapshot(&log(), &snapshot(MAX_SNAPSHOT_BYTES)).is_ok());
    assert!(check_signal(&log(), &signal(MAX_SIGNAL_BYTES)).is_ok());

    let errors = [
        check_commit(&log(), &commit(MAX_COMMIT_BYTES + 16)),
        check_commit(&log(), &commit(MAX_COMMIT_BYTES).taking(SignalId::new("s").unwrap())),
        check_snapshot(&log(), &snapshot(MAX_SNAPSHOT_BYTES + 16)),
        check_signal(&log(), &signal(MAX_SIGNAL_BYTES + 1)),
    ];
    let errors = errors.map(|checked| checked.unwrap_err());
    assert!(errors.iter().all(|error| error.kind() == JournalErrorKind::TooLarge && !error.is_retryable()));
    let said = errors.map(|error| error.to_string());
    assert_eq!(
        said[0],
        "log `log` was given commit `c` of 67108880 bytes; at most 67108864 are allowed, so split it"
    );
    assert!(said[2].starts_with("log `log` was given snapshot `4` of 1073741840 bytes"), "{}", said[2]);
}

#[test]
fn a_log_whose_numbers_have_run_out_takes_no_more_records() {
    let last = Sequence::new(u64::MAX);
    assert!(check_room(&log(), last, 0).is_ok());
    assert!(check_room(&log(), Sequence::new(u64::MAX - 2), 2).is_ok());
    let error = check_room(&log(), last, 1).unwrap_err();
    assert_eq!(error.kind(), JournalErrorKind::TooLarge);
    let said = "log `log` ends at 18446744073709551615, with too few numbers left for this commit; begin another log";
    assert_eq!(error.to_string(), said);
}
