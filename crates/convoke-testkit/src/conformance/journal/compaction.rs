//! Snapshots, and what lies before them.

use convoke_core::{
    Claim, Journal, JournalErrorKind, LogContents, LogId, ReadFrom, Record, Sequence, Snapshot,
};

use super::{claimed, commit, fine, own_log, refused, texts};

/// More snapshots than a journal keeps unless it is told to keep all.
const SNAPSHOTS: u64 = 12;

pub(super) async fn check(journal: &impl Journal) {
    snapshots(journal).await;
    compacted(journal).await;
}

fn at(number: u64) -> Sequence {
    Sequence::new(number)
}

async fn append(journal: &impl Journal, log: &LogId, claim: Claim, number: u64) {
    let commit = commit(&format!("c{number}"), claim, number).with_record(number.to_string());
    fine(journal.append(log, commit).await);
}

async fn snapshots(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "snapshots").await;
    for number in 0..3 {
        append(journal, &log, claim, number).await;
    }
    let conflict = JournalErrorKind::Conflict { next: at(3) };
    refused(journal.compact(&log, claim.token, Snapshot::new(at(2), ["x"])).await, conflict);
    refused(journal.compact(&log, claim.token, Snapshot::new(at(4), ["x"])).await, conflict);
    let snapshot = Snapshot::new(at(3), ["0 to 2", "and more"]);
    fine(journal.compact(&log, claim.token, snapshot.clone()).await);
    fine(journal.compact(&log, claim.token, snapshot.clone()).await);
    let empty = LogContents::new(at(3), vec![]).with_snapshot(snapshot.clone());
    assert_eq!(fine(journal.read(&log, ReadFrom::Latest).await), empty, "a snapshot with nothing behind it");
    append(journal, &log, claim, 3).await;
    append(journal, &log, claim, 4).await;

    let latest = LogContents::new(at(3), vec![Record::from("3"), Record::from("4")]).with_snapshot(snapshot);
    assert_eq!(fine(journal.read(&log, ReadFrom::Latest).await), latest, "a snapshot and what follows it");
    assert_eq!(fine(journal.read(&log, ReadFrom::Before(at(3))).await), latest);
    assert_eq!(
        texts(journal, &log, ReadFrom::Before(at(2))).await,
        ["0", "1", "2", "3", "4"],
        "before a snapshot"
    );
    assert_eq!(
        texts(journal, &log, ReadFrom::Record(at(1))).await,
        ["1", "2", "3", "4"],
        "across a snapshot"
    );

    let again = commit("c1", claim, 1).with_record("1");
    assert_eq!(fine(journal.append(&log, again).await).next, at(2), "a repeat from before a snapshot");
    fine(journal.release(&log, claim.token).await);
    let later = claimed(journal, &log, "b").await;
    assert_eq!(later.next, at(5));
    let again = commit("c1", later, 1).with_record("1");
    assert_eq!(fine(journal.append(&log, again).await).next, at(2), "a repeat under a later claim");
    append(journal, &log, later, 5).await;
}

async fn compacted(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "compacted").await;
    for number in 0..SNAPSHOTS {
        append(journal, &log, claim, number).await;
        let said = format!("0 to {number}");
        fine(journal.compact(&log, claim.token, Snapshot::new(at(number + 1), [said])).await);
    }
    match journal.read(&log, ReadFrom::Before(at(0))).await {
        Ok(contents) => assert_eq!(contents.first, at(0), "a journal that keeps everything"),
        Err(error) => {
            let JournalErrorKind::Compacted { oldest } = error.kind() else {
                return refused(Err::<(), _>(error), JournalErrorKind::Compacted { oldest: at(0) });
            };
            let contents = fine(journal.read(&log, ReadFrom::Before(oldest)).await);
            let said = format!("0 to {}", oldest.get() - 1);
            let expected = Some(Snapshot::new(oldest, [said]));
            assert_eq!(contents.snapshot, expected, "the oldest that is kept is what the error names");
            let before = Sequence::new(oldest.get() - 1);
            refused(journal.read(&log, ReadFrom::Before(before)).await, error.kind());
            refused(journal.read(&log, ReadFrom::Record(before)).await, error.kind());
            let count = usize::try_from(SNAPSHOTS - oldest.get()).unwrap_or_default();
            assert_eq!(texts(journal, &log, ReadFrom::Record(oldest)).await.len(), count);
        }
    }
}
