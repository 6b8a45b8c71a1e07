//! Commits: their place, their repeats.

use convoke_core::{Committed, Journal, JournalErrorKind, ReadFrom, Sequence};
use futures_util::future::join_all;

use super::{claimed, commit, fine, own_log, refused, signal_id, texts};
use crate::dropped_after;

/// How many commits stand in line at the same time.
const IN_LINE: u64 = 64;

pub(super) async fn check(journal: &impl Journal) {
    places(journal).await;
    repeats(journal).await;
    in_line(journal).await;
    dropped(journal).await;
    odd_records(journal).await;
}

async fn places(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "places").await;
    assert_eq!(claim.next, Sequence::START, "where an empty log ends");
    let first = fine(journal.append(&log, commit("1", claim, 0).with_records(["a", "b"])).await);
    assert_eq!((first.first, first.next), (Sequence::START, Sequence::new(2)), "what a commit did");

    let conflict = JournalErrorKind::Conflict { next: Sequence::new(2) };
    refused(journal.append(&log, commit("2", claim, 1).with_record("x")).await, conflict);
    refused(journal.append(&log, commit("3", claim, 3).with_record("x")).await, conflict);
    fine(journal.append(&log, commit("4", claim, 2).with_record("c").relaxed()).await);
    fine(journal.append(&log, commit("5", claim, 3)).await);
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, ["a", "b", "c"], "nothing of what was refused");
    fine(journal.flush(&log, claim.token).await);
    assert_eq!(texts(journal, &log, ReadFrom::Record(Sequence::new(1))).await, ["b", "c"]);
    assert_eq!(texts(journal, &log, ReadFrom::Record(Sequence::new(3))).await, [""; 0]);
    assert_eq!(texts(journal, &log, ReadFrom::Record(Sequence::new(9))).await, [""; 0]);
}

async fn repeats(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "repeats").await;
    let one = commit("one", claim, 0).with_record("a");
    let first = fine(journal.append(&log, one.clone()).await);
    fine(journal.append(&log, commit("two", claim, 1).with_record("b")).await);
    let same =
        |answer: Committed| assert_eq!((answer.first, answer.next), (first.first, first.next), "a repeat");
    same(fine(journal.append(&log, one.clone()).await));

    let conflict = JournalErrorKind::Conflict { next: Sequence::new(2) };
    let other = commit("one", claim, 2).with_record("c");
    refused(journal.append(&log, other).await, conflict);
    refused(journal.append(&log, one.clone().taking(signal_id("s"))).await, conflict);

    fine(journal.release(&log, claim.token).await);
    let later = claimed(journal, &log, "b").await;
    assert_eq!(later.next, Sequence::new(2), "where the log ends for its next owner");
    same(fine(journal.append(&log, commit("one", later, 0).with_record("a")).await));
    refused(journal.append(&log, one).await, JournalErrorKind::Fenced);
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, ["a", "b"]);

    let remembered = journal.capabilities().remembered;
    assert!(remembered > 0, "a journal remembers its commits");
    let mut next = later.next;
    for number in 1..remembered.min(2_000) {
        let commit = commit(&format!("n{number}"), later, next.get()).with_record("n").relaxed();
        next = fine(journal.append(&log, commit).await).next;
    }
    let second = fine(journal.append(&log, commit("two", later, 1).with_record("b")).await);
    assert_eq!(second.next, Sequence::new(2), "the oldest commit that has to be remembered");
    fine(journal.flush(&log, later.token).await);
}

async fn in_line(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "in-line").await;
    let commits = (0..IN_LINE).map(|number| {
        let commit = commit(&format!("c{number}"), claim, number).with_record(number.to_string());
        journal.append(&log, if number % 3 == 1 { commit.relaxed() } else { commit })
    });
    for (number, answer) in join_all(commits).await.into_iter().enumerate() {
        assert_eq!(fine(answer).first, Sequence::START.after(number), "the place of commit {number} in line");
    }
    let expected: Vec<_> = (0..IN_LINE).map(|number| number.to_string()).collect();
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, expected);
}

/// An append that is dropped midway has happened or not; its repeat finds out, and makes it so.
async fn dropped(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "dropped").await;
    for (polls, number) in (0..4).zip(0..) {
        let commit = commit(&format!("c{number}"), claim, number).with_record(number.to_string());
        dropped_after(polls, journal.append(&log, commit.clone())).await;
        let committed = fine(journal.append(&log, commit).await);
        assert_eq!(
            committed.first,
            Sequence::new(number),
            "the repeat of a commit that was dropped after {polls} polls"
        );
    }
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, ["0", "1", "2", "3"]);
}

async fn odd_records(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "odd-records").await;
    let records: [Vec<u8>; 4] = [vec![], vec![0; 3], (0..=255).collect(), vec![0xff; 100_000]];
    fine(journal.append(&log, commit("c", claim, 0).with_records(records.clone())).await);
    let contents = fine(journal.read(&log, ReadFrom::Latest).await);
    let read: Vec<_> = contents.records.iter().map(|record| record.as_bytes().to_vec()).collect();
    assert_eq!(read, records, "records of any bytes");
}
