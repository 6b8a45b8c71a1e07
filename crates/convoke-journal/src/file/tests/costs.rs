//! What a commit costs: syncs and bytes, counted.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use convoke_core::{Claim, Commit, CommitId, Journal, OwnerId, ReadFrom, Sequence};
use futures_util::future::join_all;

use super::{
    script::{journal, log},
    sim_disk::SimDisk,
};
use crate::FileJournal;

const WIDTH: u64 = 64;

async fn claimed(disk: &SimDisk) -> (FileJournal, Claim) {
    let journal = journal(disk);
    journal.create(&log()).await.unwrap();
    let claim = journal.claim(&log(), &OwnerId::new("a").unwrap(), Duration::ZERO).await.unwrap();
    (journal, claim)
}

fn commit(claim: Claim, number: u64) -> Commit {
    Commit::new(CommitId::new(format!("{number:08}")).unwrap(), claim.token, Sequence::new(number))
        .with_record(format!("record {number:08}"))
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_strict_commits_takes_one_sync_each() {
    let disk = SimDisk::new();
    let (journal, claim) = claimed(&disk).await;
    let before = disk.counts().file_syncs;
    for number in 0..1_000 {
        journal.append(&log(), commit(claim, number)).await.unwrap();
    }
    let syncs = disk.counts().file_syncs - before;
    assert!((1_000..=1_050).contains(&syncs), "{syncs} syncs for 1,000 commits");
}

#[tokio::test(start_paused = true)]
async fn commits_of_64_tasks_share_their_syncs() {
    const ROUNDS: u64 = 100;
    let disk = SimDisk::new();
    let (journal, claim) = claimed(&disk).await;
    let before = disk.counts().file_syncs;
    let next = AtomicU64::new(0);
    join_all((0..WIDTH).map(|_| async {
        for _ in 0..ROUNDS {
            journal.append(&log(), commit(claim, next.fetch_add(1, Ordering::Relaxed))).await.unwrap();
        }
    }))
    .await;
    let syncs = disk.counts().file_syncs - before;
    println!("{syncs} syncs for {ROUNDS} rounds of {WIDTH} commits");
    assert!(syncs <= 130, "{syncs} syncs for {ROUNDS} rounds of {WIDTH} commits");
}

#[tokio::test(start_paused = true)]
async fn relaxed_commits_wait_for_one_sync() {
    let disk = SimDisk::new();
    let (journal, claim) = claimed(&disk).await;
    let before = disk.counts().file_syncs;
    for number in 0..1_000 {
        journal.append(&log(), commit(claim, number).relaxed()).await.unwrap();
        if number % 100 == 99 {
            // Waits until they are written, so that there are ten frames or more.
            journal.read(&log(), ReadFrom::Latest).await.unwrap();
        }
    }
    journal.flush(&log(), claim.token).await.unwrap();
    assert_eq!(disk.counts().file_syncs - before, 1);
}

#[tokio::test(start_paused = true)]
async fn a_commit_has_as_many_bytes_after_100_000_as_at_first() {
    let disk = SimDisk::new();
    let (journal, claim) = claimed(&disk).await;
    let mut bytes = disk.counts().bytes;
    let mut of = |upto: u64, count: usize| {
        let grown = disk.counts().bytes - std::mem::replace(&mut bytes, disk.counts().bytes);
        assert_eq!(grown % count, 0, "commits up to {upto}");
        grown / count
    };
    let mut first = 0;
    for number in 0..100_000 {
        journal.append(&log(), commit(claim, number)).await.unwrap();
        if number + 1 == 1_000 {
            first = of(number, 1_000);
        }
    }
    let later = of(99_999, 99_000);
    println!("{later} bytes a commit of {} bytes of record", "record 00000000".len());
    assert_eq!(first, later);
}
