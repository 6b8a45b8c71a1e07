//! Threads where threads matter: reading while another writes and compacts, and many commits at the same time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use convoke_core::{
    Claim, Commit, CommitId, Journal, LogId, OwnerId, ReadFrom, Sequence, Signal, SignalId, Snapshot,
};
use convoke_journal::{FileJournal, Retain};
use tokio::sync::Mutex;

const COMMITS: u64 = 400;

fn log() -> LogId {
    LogId::new("log").unwrap()
}

async fn open(folder: &std::path::Path) -> FileJournal {
    FileJournal::builder(folder).retain(Retain::Snapshots(0)).open().await.unwrap()
}

async fn claim(journal: &FileJournal) -> Claim {
    journal.claim(&log(), &OwnerId::new("a").unwrap(), Duration::ZERO).await.unwrap()
}

fn commit(claim: Claim, number: u64) -> Commit {
    let commit =
        Commit::new(CommitId::new(format!("c{number}")).unwrap(), claim.token, Sequence::new(number));
    let commit = commit.with_record(number.to_string());
    if number.is_multiple_of(3) { commit } else { commit.relaxed() }
}

/// What the reader of another process sees, which knows nothing of the writer's locks.
async fn see(journal: &FileJournal, at_least: Sequence) -> Sequence {
    let contents = loop {
        match journal.read(&log(), ReadFrom::Latest).await {
            Ok(contents) => break contents,
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
    };
    assert!(contents.next >= at_least, "the log went back from {at_least} to {}", contents.next);
    let upto = contents.snapshot.map_or(Sequence::START, |snapshot| snapshot.upto);
    assert_eq!(upto, contents.first);
    for (number, record) in (contents.first.get()..).zip(contents.records) {
        assert_eq!(record.to_text(), number.to_string());
    }
    contents.next
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_sees_a_whole_log_whatever_its_owner_does() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path()).await;
    journal.create(&log()).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (is_over, folder) = (Arc::clone(&is_over), folder.path().to_owned());
            tokio::spawn(async move {
                let journal = open(&folder).await;
                let mut next = Sequence::START;
                while !is_over.load(Ordering::Relaxed) {
                    next = see(&journal, next).await;
                }
                assert_eq!(see(&journal, next).await, Sequence::new(COMMITS));
            })
        })
        .collect();
    let mut claim = claim(&journal).await;
    for number in 0..COMMITS {
        journal.append(&log(), commit(claim, number)).await.unwrap();
        if number % 5 == 4 {
            let snapshot = Snapshot::new(Sequence::new(number + 1), ["all"]);
            journal.compact(&log(), claim.token, snapshot).await.unwrap();
        }
        if number % 50 == 49 {
            claim = self::claim(&journal).await;
        }
    }
    journal.flush(&log(), claim.token).await.unwrap();
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_and_signals_of_many_tasks_all_arrive() {
    const TASKS: u64 = 16;
    const EACH: u64 = 25;
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path()).await;
    journal.create(&log()).await.unwrap();
    let claim = claim(&journal).await;
    let next = Arc::new(Mutex::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (journal, next) = (journal.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                for number in 0..EACH {
                    let id = SignalId::new(format!("{task}-{number}")).unwrap();
                    journal.signal(&log(), Signal::new(id, "now")).await.unwrap();
                    // The place in line is taken with the lock held; what comes after is not waited for.
                    let mut place = next.lock().await;
                    let log = log();
                    let mut append = Box::pin(journal.append(&log, commit(claim, *place)));
                    *place += 1;
                    if convoke_testkit::dropped_after(1, append.as_mut()).await.is_none() {
                        drop(place);
                        append.await.unwrap();
                    }
                }
            })
        })
        .collect();
    let mut heard = 0;
    while heard < TASKS * EACH {
        heard += u64::try_from(journal.next_signals(&log(), claim.token).await.unwrap().len()).unwrap();
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(see(&journal, Sequence::START).await, Sequence::new(TASKS * EACH));
    journal.release(&log(), claim.token).await.unwrap();
    assert_eq!(see(&open(folder.path()).await, Sequence::START).await, Sequence::new(TASKS * EACH));
}
