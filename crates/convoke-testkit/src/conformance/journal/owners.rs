//! Who may write.

use std::time::Duration;

use convoke_core::{Journal, JournalErrorKind, ReadFrom, Sequence, Snapshot};

use super::{TTL, claimed, commit, fine, log, own_log, owner, refused, texts};

/// How long a claim lasts that is let go stale.
const SHORT: Duration = Duration::from_secs(1);

pub(super) async fn check(journal: &impl Journal) {
    one_at_a_time(journal).await;
    again(journal).await;
    if journal.capabilities().ttl_claims {
        expiry(journal).await;
    }
}

async fn one_at_a_time(journal: &impl Journal) {
    let (log, first) = own_log(journal, "one-at-a-time").await;
    refused(journal.claim(&log, &owner("b"), TTL).await, JournalErrorKind::Claimed);
    fine(journal.append(&log, commit("1", first, 0).with_record("a")).await);
    assert_eq!(
        fine(journal.renew(&log, first.token, TTL).await).token,
        first.token,
        "renewing keeps the token"
    );
    fine(journal.release(&log, first.token).await);
    refused(journal.release(&log, first.token).await, JournalErrorKind::Fenced);

    let second = claimed(journal, &log, "b").await;
    assert!(second.token > first.token, "{} does not follow {}", second.token, first.token);
    refused(journal.append(&log, commit("2", first, 1)).await, JournalErrorKind::Fenced);
    refused(journal.flush(&log, first.token).await, JournalErrorKind::Fenced);
    let snapshot = Snapshot::new(Sequence::new(1), ["all"]);
    refused(journal.compact(&log, first.token, snapshot).await, JournalErrorKind::Fenced);
    refused(journal.renew(&log, first.token, TTL).await, JournalErrorKind::Fenced);
    refused(journal.next_signals(&log, first.token).await, JournalErrorKind::Fenced);
    refused(journal.delete(&log, first.token).await, JournalErrorKind::Fenced);
    refused(journal.release(&log, first.token).await, JournalErrorKind::Fenced);
    journal.abandon(&log, first.token);
    fine(journal.append(&log, commit("3", second, 1).with_record("b")).await);
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, ["a", "b"], "nothing of a fenced owner");
}

async fn again(journal: &impl Journal) {
    let (log, first) = own_log(journal, "again").await;
    fine(journal.append(&log, commit("1", first, 0).with_record("a").relaxed()).await);
    let second = claimed(journal, &log, "a").await;
    assert!(second.token > first.token, "{} does not follow {}", second.token, first.token);
    assert_eq!(second.next, Sequence::new(1), "where the log ends for who claims it again");
    refused(journal.append(&log, commit("2", first, 1)).await, JournalErrorKind::Fenced);
    fine(journal.append(&log, commit("3", second, 1).with_record("b")).await);
    assert_eq!(texts(journal, &log, ReadFrom::Latest).await, ["a", "b"]);
}

async fn expiry(journal: &impl Journal) {
    let log = log("expiry");
    fine(journal.create(&log).await);
    let first = fine(journal.claim(&log, &owner("a"), SHORT).await);
    assert!(first.expires.is_some(), "a claim that ends by time says when");
    tokio::time::sleep(SHORT / 2).await;
    let renewed = fine(journal.renew(&log, first.token, SHORT).await);
    assert!(renewed.expires > first.expires, "renewing makes a claim last longer");
    tokio::time::sleep(SHORT / 4 * 3).await;
    refused(journal.claim(&log, &owner("b"), SHORT).await, JournalErrorKind::Claimed);
    tokio::time::sleep(SHORT).await;
    fine(journal.append(&log, commit("1", first, 0).with_record("late, and not taken")).await);
    let second = fine(journal.claim(&log, &owner("b"), SHORT).await);
    refused(journal.append(&log, commit("2", first, 1)).await, JournalErrorKind::Fenced);
    refused(journal.renew(&log, first.token, SHORT).await, JournalErrorKind::Fenced);
    fine(journal.append(&log, commit("3", second, 1)).await);
    tokio::time::sleep(SHORT * 2).await;
    let third = fine(journal.claim(&log, &owner("c"), SHORT).await);
    assert!(third.token > second.token, "{} does not follow {}", third.token, second.token);
}
