//! Writes of a journal that fail where they are told to.

use std::time::Duration;

use convoke_core::{Claim, Commit, CommitId, Journal, JournalErrorKind, LogId, OwnerId, ReadFrom, Sequence};
use convoke_journal::MemoryJournal;
use convoke_testkit::{FaultyJournal, JournalFault};

fn log() -> LogId {
    LogId::new("log").unwrap()
}

async fn claimed(journal: &impl Journal) -> Claim {
    journal.claim(&log(), &OwnerId::new("a").unwrap(), Duration::from_secs(9)).await.unwrap()
}

fn commit(claim: Claim, number: u64) -> Commit {
    Commit::new(CommitId::new(format!("c{number}")).unwrap(), claim.token, Sequence::new(number))
        .with_record("r")
}

async fn failing(fault: JournalFault) -> (FaultyJournal<MemoryJournal>, Claim) {
    let journal = FaultyJournal::new(MemoryJournal::new()).failing(1, fault);
    journal.create(&log()).await.unwrap();
    let claim = claimed(&journal).await;
    journal.append(&log(), commit(claim, 0)).await.unwrap();
    (journal, claim)
}

#[tokio::test]
async fn a_write_fails_before_or_after_it_happened() {
    for (fault, happened) in [(JournalFault::Before, 1), (JournalFault::After, 2)] {
        let (journal, claim) = failing(fault).await;
        let error = journal.append(&log(), commit(claim, 1)).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (JournalErrorKind::Io, true));
        let there = journal.inner().read(&log(), ReadFrom::Latest).await.unwrap();
        assert_eq!(there.next, Sequence::new(happened), "{fault:?}");
        assert_eq!(journal.append(&log(), commit(claim, 1)).await.unwrap().next, Sequence::new(2));
        assert_eq!(journal.writes(), 3);
    }
}

#[tokio::test]
async fn a_poisoned_claim_stays_so_until_the_next() {
    let (journal, claim) = failing(JournalFault::Poison).await;
    for _ in 0..2 {
        let error = journal.append(&log(), commit(claim, 1)).await.unwrap_err();
        assert_eq!(error.kind(), JournalErrorKind::Poisoned);
    }
    let again = claimed(&journal.clone()).await;
    assert_eq!(journal.append(&log(), commit(again, 1)).await.unwrap().next, Sequence::new(2));
}
