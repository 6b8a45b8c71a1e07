//! What a journal must hold.

mod appends;
mod compaction;
mod durable;
mod owners;
mod signals;

use std::time::Duration;

use convoke_core::{
    Claim, Commit, CommitId, Journal, JournalError, JournalErrorKind, LogContents, LogId, OwnerId, ReadFrom,
    Sequence, SignalId,
};

pub use durable::durable_journal;

/// For how long the suite claims, on the clock of the journal.
const TTL: Duration = Duration::from_mins(1);

/// Checks that a journal holds the contract of [`Journal`], on logs whose ids begin with `conformance/` and which must not
/// exist yet; they are left there.
///
/// - Logs: made once, listed by prefix and in order, deleted by their owner alone, made again.
/// - Commits: whole, at the place they expect or refused with the place where the log ends; a repeat answers what the first
///   did, also under a later claim; the same id for something else is refused; commits in line at the same time.
/// - Owners: one at a time, each with a higher token; whoever held it before is fenced in all it asks for; the same
///   owner may claim again; a claim that was given up can be taken.
/// - Where it declares `ttl_claims`: a claim that is not renewed can be taken after its time, one that is renewed cannot. A
///   test that pauses tokio's clock does not wait for it.
/// - Compaction: what follows a snapshot, reading before it or at a record, the names of what is no longer kept.
/// - Signals: heard by who waits and by who claims later, once for each claim, until a commit takes them; a repeat
///   changes nothing.
///
/// ```
/// use convoke_journal::MemoryJournal;
/// use convoke_testkit::conformance;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// conformance::journal(&MemoryJournal::new()).await;
/// # }
/// ```
///
/// # Panics
///
/// Where the journal does not hold one of these, and where it panics.
pub async fn journal(journal: &impl Journal) {
    assert_eq!(journal.capabilities(), journal.capabilities(), "capabilities change from call to call");
    logs(journal).await;
    appends::check(journal).await;
    owners::check(journal).await;
    compaction::check(journal).await;
    signals::check(journal).await;
}

async fn logs(journal: &impl Journal) {
    let (one, two) = (log("logs/1"), log("logs/\u{e9}~/ 2.%"));
    fine(journal.create(&one).await);
    fine(journal.create(&two).await);
    refused(journal.create(&one).await, JournalErrorKind::AlreadyExists);
    assert_eq!(fine(journal.list("conformance/logs/").await), [one.clone(), two.clone()], "logs by prefix");
    assert_eq!(
        fine(journal.list("conformance/logs/1").await),
        std::slice::from_ref(&one),
        "logs by a whole id"
    );
    assert_eq!(fine(journal.list("conformance/logs/3").await), [], "logs by a prefix that none has");

    let longest = log(&"x".repeat(256 - "conformance/".len()));
    fine(journal.create(&longest).await);
    assert_eq!(fine(journal.list("conformance/xxx").await), [longest], "the longest id is listed");

    let missing = log("missing");
    refused(journal.read(&missing, ReadFrom::Latest).await, JournalErrorKind::NotFound);
    refused(journal.claim(&missing, &owner("a"), TTL).await, JournalErrorKind::NotFound);
    refused(journal.signal(&missing, signal("s")).await, JournalErrorKind::NotFound);

    let claim = claimed(journal, &one, "a").await;
    fine(journal.append(&one, commit("c", claim, 0).with_record("old")).await);
    fine(journal.delete(&one, claim.token).await);
    refused(journal.append(&one, commit("d", claim, 1)).await, JournalErrorKind::Fenced);
    refused(journal.read(&one, ReadFrom::Latest).await, JournalErrorKind::NotFound);
    assert_eq!(fine(journal.list("conformance/logs/").await), [two], "logs after one was deleted");
    fine(journal.create(&one).await);
    assert_eq!(fine(journal.read(&one, ReadFrom::Latest).await), LogContents::new(Sequence::START, vec![]));
    refused(journal.append(&one, commit("d", claim, 0)).await, JournalErrorKind::Fenced);
}

fn log(name: &str) -> LogId {
    fine(LogId::new(format!("conformance/{name}")))
}

fn owner(name: &str) -> OwnerId {
    fine(OwnerId::new(name))
}

fn signal(id: &str) -> convoke_core::Signal {
    convoke_core::Signal::new(signal_id(id), id)
}

fn signal_id(id: &str) -> SignalId {
    fine(SignalId::new(id))
}

/// A commit that expects the log to end at `expected`.
fn commit(id: &str, claim: Claim, expected: u64) -> Commit {
    Commit::new(fine(CommitId::new(id)), claim.token, Sequence::new(expected))
}

async fn claimed(journal: &impl Journal, log: &LogId, name: &str) -> Claim {
    fine(journal.claim(log, &owner(name), TTL).await)
}

/// A log of its own, claimed by `a`.
async fn own_log(journal: &impl Journal, name: &str) -> (LogId, Claim) {
    let log = log(name);
    fine(journal.create(&log).await);
    let claim = claimed(journal, &log, "a").await;
    (log, claim)
}

/// The records from `from` on, as texts.
async fn texts(journal: &impl Journal, log: &LogId, from: ReadFrom) -> Vec<String> {
    let contents = fine(journal.read(log, from).await);
    assert_eq!(
        contents.next,
        contents.first.after(contents.records.len()),
        "where the log ends: {contents:?}"
    );
    contents.records.iter().map(convoke_core::Record::to_text).collect()
}

#[expect(clippy::panic, reason = "a suite tells what is wrong by a panic")]
#[track_caller]
fn fine<T, E: std::error::Error>(answer: Result<T, E>) -> T {
    match answer {
        Ok(value) => value,
        Err(error) => panic!("refused what should be done: {error} ({error:?})"),
    }
}

#[expect(clippy::panic, reason = "a suite tells what is wrong by a panic")]
#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, JournalError>, expected: JournalErrorKind) {
    match answer {
        Ok(value) => panic!("did what should be refused with {expected:?}: {value:?}"),
        Err(error) => assert_eq!(error.kind(), expected, "refused otherwise than expected: {error}"),
    }
}
