//! What anybody may tell an owner.

use std::time::Duration;

use convoke_core::{Journal, LogId, Signal};
use futures_util::future::join;

use super::{claimed, commit, fine, own_log, refused, signal, signal_id};
use crate::dropped_after;

/// How long hearing of a signal may take, on tokio's clock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Within which nothing is heard where nothing was said.
const SILENCE: Duration = Duration::from_secs(3);

pub(super) async fn check(journal: &impl Journal) {
    let (log, claim) = own_log(journal, "signals").await;
    fine(journal.signal(&log, signal("early")).await);
    assert_eq!(heard(journal, &log, claim.token).await, ["early"], "a signal that was there before");
    fine(journal.signal(&log, signal("early")).await);
    silent(journal, &log, claim.token, "a repeat of a signal that waits").await;

    let (told, sent) = join(heard(journal, &log, claim.token), journal.signal(&log, signal("b"))).await;
    fine(sent);
    assert_eq!(told, ["b"], "a signal that comes while its owner waits");

    fine(journal.append(&log, commit("1", claim, 0).taking(signal_id("early"))).await);
    fine(journal.signal(&log, signal("early")).await);
    silent(journal, &log, claim.token, "a repeat of a signal that was taken").await;

    let early = dropped_after(1, journal.next_signals(&log, claim.token)).await;
    assert!(early.is_none(), "told of a signal that nobody sent: {early:?}");
    fine(journal.signal(&log, signal("c/\u{e9}~.. %2f")).await);
    if dropped_after(1, journal.next_signals(&log, claim.token)).await.is_none() {
        assert_eq!(
            heard(journal, &log, claim.token).await,
            ["c/\u{e9}~.. %2f"],
            "after a future was dropped"
        );
    }

    fine(journal.release(&log, claim.token).await);
    fine(journal.signal(&log, signal("d")).await);
    let later = claimed(journal, &log, "b").await;
    let waiting = fine(journal.waiting_signals(&log, later.token).await);
    let mut told: Vec<_> = waiting.into_iter().map(|signal| signal.id.to_string()).collect();
    told.sort();
    assert_eq!(told, ["b", "c/\u{e9}~.. %2f", "d"], "what no commit took is told to the next owner");
    let waiting = fine(journal.waiting_signals(&log, later.token).await);
    assert!(waiting.is_empty(), "signals that were told are told again: {waiting:?}");
    silent(journal, &log, later.token, "a signal that was told").await;
    let takes = commit("2", later, 0).taking(signal_id("b")).taking(signal_id("d")).relaxed();
    fine(journal.append(&log, takes).await);
    fine(journal.release(&log, later.token).await);
    let last = claimed(journal, &log, "c").await;
    assert_eq!(heard(journal, &log, last.token).await, ["c/\u{e9}~.. %2f"], "what a relaxed commit left");
    refused(journal.waiting_signals(&log, later.token).await, convoke_core::JournalErrorKind::Fenced);

    let waits = journal.next_signals(&log, last.token);
    let ends = async { fine(journal.release(&log, last.token).await) };
    let (told, ()) = join(tokio::time::timeout(PATIENCE, waits), ends).await;
    assert!(told.is_ok(), "who waits for signals hears of the end of the claim");
    refused(told.unwrap_or(Ok(vec![])), convoke_core::JournalErrorKind::Fenced);
}

async fn heard(journal: &impl Journal, log: &LogId, token: convoke_core::FencingToken) -> Vec<String> {
    let told = tokio::time::timeout(PATIENCE, journal.next_signals(log, token)).await;
    assert!(told.is_ok(), "no signal was heard within {PATIENCE:?}");
    let told = fine(told.unwrap_or(Ok(vec![])));
    assert!(!told.is_empty(), "no signal was told");
    assert!(told.iter().all(|Signal { id, body, .. }| id.as_str().as_bytes() == body.as_bytes()), "{told:?}");
    told.into_iter().map(|signal| signal.id.to_string()).collect()
}

async fn silent(journal: &impl Journal, log: &LogId, token: convoke_core::FencingToken, what: &str) {
    let told = tokio::time::timeout(SILENCE, journal.next_signals(log, token)).await;
    assert!(told.is_err(), "{what} was told: {told:?}");
}
