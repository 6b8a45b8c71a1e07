//! What is the journal's in files alone.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use convoke_core::{
    Claim, Commit, CommitId, Journal, JournalErrorKind, LogId, OwnerId, ReadFrom, Sequence, Signal, SignalId,
    Snapshot,
};
use convoke_journal::{FileJournal, MAX_WAITING_SIGNALS, Retain};
use futures_util::FutureExt as _;
use tokio::time::Instant;

fn log() -> LogId {
    LogId::new("log").unwrap()
}

async fn claim(journal: &FileJournal) -> Claim {
    journal.claim(&log(), &OwnerId::new("a").unwrap(), Duration::ZERO).await.unwrap()
}

fn commit(claim: Claim, number: u64) -> Commit {
    Commit::new(CommitId::new(format!("c{number}")).unwrap(), claim.token, Sequence::new(number))
        .with_record("r")
}

fn signal(id: &str) -> Signal {
    Signal::new(SignalId::new(id).unwrap(), "now")
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_log_is_a_folder_that_keeps_what_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::builder(folder.path()).retain(Retain::Snapshots(1)).open().await.unwrap();
    journal.create(&log()).await.unwrap();
    let claim = claim(&journal).await;
    for number in 0..4 {
        journal.append(&log(), commit(claim, number)).await.unwrap();
        let snapshot = Snapshot::new(Sequence::new(number + 1), ["all"]);
        journal.compact(&log(), claim.token, snapshot).await.unwrap();
    }
    let expected = [
        "lock",
        "segment-00000000000000000003",
        "segment-00000000000000000004",
        "signals",
        "snapshot-00000000000000000003",
        "snapshot-00000000000000000004",
    ];
    assert_eq!(names(&folder.path().join("log")), expected.map(ToOwned::to_owned).into());
    let error = journal.read(&log(), ReadFrom::Before(Sequence::new(2))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "log `log` keeps nothing of record 2; the oldest record that it keeps is 3"
    );
    journal.delete(&log(), claim.token).await.unwrap();
    assert_eq!(names(folder.path()), BTreeSet::new());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_due_once_twice_the_snapshot_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::builder(folder.path()).compact_at_least(1_000).open().await.unwrap();
    journal.create(&log()).await.unwrap();
    let claim = claim(&journal).await;
    let large = |number: u64, bytes: usize| commit(claim, number).with_record(vec![0; bytes]);
    let due = async |commit: Commit| journal.append(&log(), commit).await.unwrap().compaction_due;
    assert!(!due(large(0, 800)).await);
    assert!(due(large(2, 200)).await);
    let snapshot = Snapshot::new(Sequence::new(4), [vec![0; 2_000]]);
    journal.compact(&log(), claim.token, snapshot).await.unwrap();
    assert!(!due(large(4, 3_800)).await);
    journal.release(&log(), claim.token).await.unwrap();

    let journal = FileJournal::builder(folder.path()).compact_at_least(1_000).open().await.unwrap();
    let claim = self::claim(&journal).await;
    let last = commit(claim, 6).with_record(vec![0; 200]);
    assert!(journal.append(&log(), last).await.unwrap().compaction_due, "also after it was opened again");
}

#[tokio::test(start_paused = true)]
async fn a_signal_of_this_process_is_heard_at_once_and_one_that_comes_by_file_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).await.unwrap();
    journal.create(&log()).await.unwrap();
    let claim = claim(&journal).await;
    let log = log();
    let began = Instant::now();
    journal.signal(&log, signal("x.unfinished")).await.unwrap();
    assert_eq!(journal.next_signals(&log, claim.token).await.unwrap(), [signal("x.unfinished")]);
    let (heard, sent) =
        tokio::join!(journal.next_signals(&log, claim.token), journal.signal(&log, signal("one")));
    sent.unwrap();
    assert_eq!((heard.unwrap(), began.elapsed()), (vec![signal("one")], Duration::ZERO));

    let other = FileJournal::open(folder.path()).await.unwrap();
    let (heard, sent) =
        tokio::join!(journal.next_signals(&log, claim.token), other.signal(&log, signal("two")));
    sent.unwrap();
    assert_eq!(heard.unwrap(), [signal("two")]);
    assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_signals_hears_of_the_end_of_its_claim_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).await.unwrap();
    journal.create(&log()).await.unwrap();
    let log = log();
    for end in 0..4 {
        let claim = claim(&journal).await;
        let began = Instant::now();
        let ends = async {
            tokio::task::yield_now().await;
            match end {
                0 => journal.release(&log, claim.token).await.unwrap(),
                1 => journal.abandon(&log, claim.token),
                2 => _ = self::claim(&journal).await,
                _ => journal.delete(&log, claim.token).await.unwrap(),
            }
        };
        let (heard, ()) = tokio::join!(journal.next_signals(&log, claim.token), ends);
        assert_eq!(heard.unwrap_err().kind(), JournalErrorKind::Fenced, "{end}");
        assert_eq!(began.elapsed(), Duration::ZERO, "{end}");
        while end == 1
            && let Err(error) = journal.claim(&log, &OwnerId::new("a").unwrap(), Duration::ZERO).await
        {
            // Whoever served the abandoned claim has not let go of the lock yet.
            assert_eq!(error.kind(), JournalErrorKind::Claimed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_signal_is_told_of_and_keeps_no_other_back() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).await.unwrap();
    journal.create(&log()).await.unwrap();
    journal.signal(&log(), signal("good")).await.unwrap();
    journal.signal(&log(), signal("bad")).await.unwrap();
    let bad = folder.path().join("log/signals/bad");
    let mut bytes = fs::read(&bad).unwrap();
    bytes[20] ^= 1;
    fs::write(&bad, bytes).unwrap();
    let claim = claim(&journal).await;
    assert_eq!(journal.next_signals(&log(), claim.token).await.unwrap(), [signal("good")]);
    let log = log();
    let told = tokio::time::timeout(Duration::from_secs(9), journal.next_signals(&log, claim.token)).await;
    let error = told.expect("the damaged one is told of").unwrap_err();
    assert_eq!(error.kind(), JournalErrorKind::Damaged);
    assert!(error.to_string().contains("signals/bad` is no valid signal"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn signals_that_nobody_takes_are_refused_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).await.unwrap();
    journal.create(&log()).await.unwrap();
    let signals = folder.path().join("log/signals");
    for number in 0..MAX_WAITING_SIGNALS {
        fs::write(signals.join(format!("s{number}")), "").unwrap();
    }
    let error = journal.signal(&log(), signal("more")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (JournalErrorKind::Full, true));
    journal.signal(&log(), signal("s1")).await.unwrap();
}

#[test]
fn outside_a_runtime_all_is_refused_and_a_claim_can_still_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (journal, claim) = runtime().block_on(async {
        let journal = FileJournal::open(folder.path()).await.unwrap();
        journal.create(&log()).await.unwrap();
        let claim = claim(&journal).await;
        journal.append(&log(), commit(claim, 0)).await.unwrap();
        (journal, claim)
    });
    let refused = journal.append(&log(), commit(claim, 1)).now_or_never().unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "log `log` was used outside a tokio runtime; call it inside one");
    assert_eq!(journal.list("").now_or_never().unwrap().unwrap_err().kind(), JournalErrorKind::Io);

    // Nothing of it was put in line: inside a runtime the same commit is as good as ever.
    runtime().block_on(async { journal.append(&log(), commit(claim, 1)).await.unwrap() });
    journal.abandon(&log(), claim.token);
    runtime().block_on(async {
        let other = FileJournal::open(folder.path()).await.unwrap();
        assert_eq!(self::claim(&other).await.next, Sequence::new(2));
    });
}

#[tokio::test(start_paused = true)]
async fn two_journals_of_one_process_are_as_two_processes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) =
        (FileJournal::open(folder.path()).await.unwrap(), FileJournal::open(folder.path()).await.unwrap());
    one.create(&log()).await.unwrap();
    let claim = claim(&one).await;
    let refused = two.claim(&log(), &OwnerId::new("a").unwrap(), Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), JournalErrorKind::Claimed);
    one.append(&log(), commit(claim, 0)).await.unwrap();
    assert_eq!(two.read(&log(), ReadFrom::Latest).await.unwrap().next, Sequence::new(1));
    one.release(&log(), claim.token).await.unwrap();
    let later = self::claim(&two).await;
    assert_eq!((later.token.get(), later.next), (2, Sequence::new(1)));
}

#[tokio::test]
async fn who_claims_waits_for_the_end_of_what_was_abandoned_here() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path().join("journal")).await.unwrap();
    journal.create(&log()).await.unwrap();
    for n in 0..40_u64 {
        let owner = OwnerId::new(format!("owner-{n}")).unwrap();
        let claim = journal.claim(&log(), &owner, Duration::ZERO).await.unwrap();
        let commit = Commit::new(CommitId::new(format!("c{n}")).unwrap(), claim.token, claim.next);
        journal.append(&log(), commit.with_record("written").relaxed()).await.unwrap();
        journal.abandon(&log(), claim.token);
    }
    assert_eq!(journal.read(&log(), ReadFrom::Latest).await.unwrap().records.len(), 40);
}
