//! What is there when a journal is opened again.

use convoke_core::{Journal, LogContents, ReadFrom, Record, Sequence, Snapshot};

use super::{claimed, commit, fine, log, own_log, signal, signal_id};

/// Checks that what a journal has answered is there when it is opened again, on logs whose ids begin with `conformance/`
/// and which must not exist yet; they are left there.
///
/// `open` gives the same journal each time; what it gave before is dropped first, all of it.
///
/// - It declares `durable`.
/// - Records, snapshots and signals that no commit took are there; tokens go on; a repeat is known.
///
/// # Panics
///
/// Where the journal does not hold one of these, and where it panics.
pub async fn durable_journal<J: Journal>(open: impl AsyncFn() -> J) {
    let journal = open().await;
    assert!(journal.capabilities().durable, "a journal that is opened again declares `durable`");
    let (log, claim) = own_log(&journal, "durable").await;
    fine(journal.append(&log, commit("1", claim, 0).with_record("a")).await);
    fine(journal.compact(&log, claim.token, Snapshot::new(Sequence::new(1), ["only a"])).await);
    fine(journal.signal(&log, signal("taken")).await);
    fine(journal.signal(&log, signal("waits")).await);
    fine(journal.append(&log, commit("2", claim, 1).with_record("b").taking(signal_id("taken"))).await);
    fine(journal.append(&log, commit("3", claim, 2).with_record("c").relaxed()).await);
    fine(journal.release(&log, claim.token).await);
    drop(journal);

    let journal = open().await;
    let snapshot = Snapshot::new(Sequence::new(1), ["only a"]);
    let records = vec![Record::from("b"), Record::from("c")];
    let expected = LogContents::new(Sequence::new(1), records).with_snapshot(snapshot);
    assert_eq!(fine(journal.read(&log, ReadFrom::Latest).await), expected, "what was answered is there");
    let again = claimed(&journal, &log, "b").await;
    assert!(again.token > claim.token, "{} does not follow {}", again.token, claim.token);
    fine(journal.signal(&log, signal("taken")).await);
    let told = fine(journal.next_signals(&log, again.token).await);
    assert_eq!(told, [signal("waits")], "the signals that no commit took");
    for (id, first, record) in [("1", 0, "a"), ("2", 1, "b")] {
        let repeat = commit(id, again, first).with_record(record);
        let repeat = if id == "2" { repeat.taking(signal_id("taken")) } else { repeat };
        assert_eq!(
            fine(journal.append(&log, repeat).await).first,
            Sequence::new(first),
            "a repeat of `{id}`"
        );
    }
    fine(journal.append(&log, commit("4", again, 3).with_record("d")).await);
    fine(journal.delete(&log, again.token).await);
    drop(journal);

    let journal = open().await;
    assert_eq!(fine(journal.list(log.as_str()).await), [], "a deleted log is gone");
    fine(journal.create(&self::log("durable")).await);
}
