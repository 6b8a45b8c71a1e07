//! What is in which commit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use convoke_core::{
    AnyJournal, Journal as _, JournalError, JournalErrorKind, LogId, OwnerId, PlanId, ReadFrom, Record,
    Signal, SignalId,
};
use convoke_journal::MemoryJournal;
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
use futures_util::FutureExt as _;

use super::{Cohort, Writer};
use crate::machine::Durability;

fn log() -> LogId {
    LogId::of_plan(&PlanId::new("plan").unwrap())
}

/// A writer whose appends are counted; that with the number `fails` fails.
async fn writer(journal: &MemoryJournal, fails: usize) -> (Writer, Arc<AtomicUsize>) {
    journal.create(&log()).await.unwrap();
    let claim = journal.claim(&log(), &OwnerId::random(), Duration::from_mins(1)).await.unwrap();
    let appends = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&appends);
    let hooked = HookedJournal::new(journal.clone(), move |call, moment| {
        if (call, moment) == (JournalCall::Append, JournalMoment::Before)
            && count.fetch_add(1, Ordering::Relaxed) == fails
        {
            return Box::pin(async {
                Err(JournalError::of_journal(JournalErrorKind::Io, "is full; make room"))
            });
        }
        go_on()
    });
    let settings = (Durability::Strict, Duration::from_mins(1));
    (Writer::new(AnyJournal::new(hooked), log(), claim, settings, claim.next), appends)
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_taken_with_the_last_of_the_commits_that_its_record_is_split_over() {
    let journal = MemoryJournal::new();
    let (mut writer, appends) = writer(&journal, 1).await;
    let signal = SignalId::random();
    journal.signal(&log(), Signal::new(signal.clone(), "approved")).await.unwrap();
    writer.take(signal);
    // Each is more than half of what a commit holds; what the signal says is in the second.
    let large = || Record::new(vec![b'x'; 12 << 20]);
    assert!(writer.write([large(), large()]).await.is_err());
    assert_eq!(appends.load(Ordering::Relaxed), 2);
    let contents = journal.read(&log(), ReadFrom::Latest).await.unwrap();
    assert_eq!(contents.records.len(), 1);
    drop(writer);
    let next = journal.claim(&log(), &OwnerId::random(), Duration::from_mins(1)).await.unwrap();
    assert_eq!(
        journal.waiting_signals(&log(), next.token).await.unwrap().len(),
        1,
        "nobody has what it says"
    );
}

#[tokio::test(start_paused = true)]
async fn a_commit_waits_for_those_that_ran_together() {
    let journal = MemoryJournal::new();
    let (mut writer, appends) = writer(&journal, usize::MAX).await;
    writer.cohort = Cohort::expecting(2);
    writer.push("one".into());
    writer.flush();
    assert!(writer.settled().now_or_never().is_none());
    assert_eq!(appends.load(Ordering::Relaxed), 0);
    writer.push("two".into());
    writer.settled().await.unwrap();
    assert_eq!(appends.load(Ordering::Relaxed), 1);
}
