//! Both journals hold the contract.

use std::time::Duration;

use convoke_core::{
    AnyJournal, Commit, CommitId, Journal, JournalErrorKind, LogId, OwnerId, Signal, SignalId,
};
use convoke_journal::{FileJournal, MAX_COMMIT_BYTES, MAX_SIGNAL_BYTES, MemoryJournal, Retain};
use convoke_testkit::conformance;

#[tokio::test(start_paused = true)]
async fn a_memory_journal_conforms() {
    conformance::journal(&MemoryJournal::new()).await;
    conformance::journal(&MemoryJournal::retaining(Retain::Everything)).await;
    conformance::journal(&MemoryJournal::retaining(Retain::Snapshots(1))).await;
}

#[tokio::test(start_paused = true)]
async fn any_journal_conforms() {
    conformance::journal(&AnyJournal::new(MemoryJournal::new())).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_conforms() {
    let folder = tempfile::tempdir().unwrap();
    conformance::journal(&FileJournal::open(folder.path().join("a/b")).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_that_keeps_everything_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::builder(folder.path()).retain(Retain::Everything).open().await.unwrap();
    conformance::journal(&journal).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    conformance::durable_journal(async || FileJournal::open(folder.path()).await.unwrap()).await;
}

/// Refused before anything is in line: the next commit is as good as ever.
#[tokio::test(start_paused = true)]
async fn both_journals_refuse_what_is_too_large() {
    async fn check(journal: &impl Journal) {
        let log = LogId::new("log").unwrap();
        journal.create(&log).await.unwrap();
        let claim = journal.claim(&log, &OwnerId::new("a").unwrap(), Duration::from_secs(9)).await.unwrap();
        let commit = |bytes: usize| {
            let commit = Commit::new(CommitId::new("c").unwrap(), claim.token, claim.next);
            commit.with_record(vec![0; bytes])
        };
        let error = journal.append(&log, commit(MAX_COMMIT_BYTES)).await.unwrap_err();
        assert_eq!(error.kind(), JournalErrorKind::TooLarge);
        let signal = Signal::new(SignalId::new("s").unwrap(), vec![0; MAX_SIGNAL_BYTES + 1]);
        assert_eq!(journal.signal(&log, signal).await.unwrap_err().kind(), JournalErrorKind::TooLarge);
        journal.append(&log, commit(1)).await.unwrap();
    }
    check(&MemoryJournal::new()).await;
    let folder = tempfile::tempdir().unwrap();
    check(&FileJournal::open(folder.path()).await.unwrap()).await;
}
