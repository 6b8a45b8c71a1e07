//! The contract of a journal: logs of records that outlive the process.

mod any;
mod capabilities;
mod claim;
mod commit;
mod contents;
mod error;
mod position;
mod record;
mod signal;

use std::time::Duration;

pub use any::AnyJournal;
pub use capabilities::JournalCapabilities;
pub use claim::Claim;
pub use commit::{Commit, Committed, Durability};
pub use contents::{LogContents, ReadFrom, Snapshot};
pub use error::{JournalError, JournalErrorKind};
pub use position::{FencingToken, Sequence};
pub use record::Record;
pub use signal::Signal;

use crate::{LogId, OwnerId};

/// The one durable thing under sessions, plans and loops: named logs, each written by one owner at a time.
///
/// A log is a row of [`Record`]s, numbered from [`Sequence::START`] without a gap. Who wants to write claims the log,
/// loads what is in it, and appends under the token of the claim. A journal does not know what a record means: what a
/// log comes to at some record, a [`Snapshot`], is its owner's to say.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_core::{Commit, Journal, JournalError, LogId, OwnerId, ReadFrom};
///
/// /// Notes one line, and gives all lines that were ever noted.
/// async fn note(journal: &impl Journal, log: &LogId, owner: &OwnerId, line: &str) -> Result<Vec<String>, JournalError> {
///     let claim = journal.claim(log, owner, Duration::from_secs(30)).await?;
///     let contents = journal.read(log, ReadFrom::Latest).await?;
///     let mut lines: Vec<_> = contents.records.iter().map(|record| record.to_text()).collect();
///
///     // Should the answer get lost, the same commit under the same id says what became of it.
///     let id = format!("line-{}", contents.next).try_into().expect("an id");
///     journal.append(log, Commit::new(id, claim.token, contents.next).with_record(line)).await?;
///     journal.release(log, claim.token).await?;
///
///     lines.push(line.to_owned());
///     Ok(lines)
/// }
/// ```
///
/// # Contract
///
/// - **Commits.** What one [`append`](Self::append) writes becomes part of the log whole or not at all, at the place that
///   it expects or nowhere. Appends and compactions take their place in line at their first poll; several may be under
///   way, each expecting to follow the one before it. If one fails, those behind it fail too.
/// - **Idempotence.** A commit under an id that the log remembers changes nothing and is answered as the first was, also
///   after a new claim and by a journal that was opened again. At least the latest [`JournalCapabilities::remembered`]
///   commits of a log are remembered; a repeat of an older one is a conflict, as its place is taken. The same id with other
///   records is a conflict.
/// - **Owners.** A log has one owner at a time. Each claim of a log has a higher token than those before it, and ends them:
///   whatever an older token asks for is [`Fenced`](JournalErrorKind::Fenced). An owner that claims again what it holds
///   gets a new token; anybody else is refused with [`Claimed`](JournalErrorKind::Claimed) while the claim lasts.
/// - **Expiry.** Where [`ttl_claims`](JournalCapabilities::ttl_claims) is so, a claim that is not renewed in time may be
///   taken by another. Until one takes it, it can still be renewed and written under. Where it is not so, a claim lasts
///   until it is released or abandoned, or its process ends.
/// - **Durability.** A [`Durability::Strict`] commit survives a loss of power once it is answered, and so do all before it.
///   A [`Durability::Relaxed`] one is answered once it has its place in the log, and is as durable with the next
///   strict commit, [`flush`](Self::flush) or release.
/// - **Signals.** Anybody may [`signal`](Self::signal) a log, claimed or not. A signal waits until a commit of an owner
///   [takes](Commit::taking) it, and is told to each claim until then, at least once. A second signal under an id
///   that waits, or is among the latest [`remembered`](JournalCapabilities::remembered) that were taken, changes nothing. No
///   order of signals is promised.
/// - **Reading** needs no claim and changes nothing. It sees all that was answered before it began, and never a part of a
///   commit.
///
/// # Cancel safety
///
/// A future that is dropped before its first poll has done nothing. One that is dropped later leaves its outcome unknown;
/// the same call again finds it out. [`next_signals`](Self::next_signals) and
/// [`waiting_signals`](Self::waiting_signals) lose no signal by being dropped.
///
/// # Errors
///
/// [`JournalError`] says by its [kind](JournalErrorKind) what to do. An append that failed otherwise than by a refusal
/// (`Fenced`, `Conflict`, `TooLarge`) may or may not have happened.
///
/// # Panics
///
/// None.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no journal",
    note = "`convoke-journal` has one in memory and one in files; `AnyJournal::new` holds a choice made at run time"
)]
pub trait Journal: Send + Sync + 'static {
    /// What this journal can do; the same at each call.
    fn capabilities(&self) -> JournalCapabilities;

    /// Makes an empty log. It is durable once this is answered.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](JournalErrorKind::AlreadyExists).
    fn create(&self, log: &LogId) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// The logs whose ids begin with `prefix`, in the order of their ids; all of them for `""`.
    ///
    /// # Errors
    ///
    /// Those of the store alone.
    fn list(&self, prefix: &str) -> impl Future<Output = Result<Vec<LogId>, JournalError>> + Send;

    /// Removes a log with its signals, and ends the claim, which ends too where this fails. The id may be created again.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced); [`Poisoned`](JournalErrorKind::Poisoned) where the log may still be there.
    fn delete(
        &self,
        log: &LogId,
        token: FencingToken,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Makes `owner` the one who may write the log, for `ttl` where claims end by time.
    ///
    /// # Errors
    ///
    /// [`NotFound`](JournalErrorKind::NotFound), [`Claimed`](JournalErrorKind::Claimed),
    /// [`Damaged`](JournalErrorKind::Damaged).
    fn claim(
        &self,
        log: &LogId,
        owner: &OwnerId,
        ttl: Duration,
    ) -> impl Future<Output = Result<Claim, JournalError>> + Send;

    /// Makes the claim last for `ttl` from now, where claims end by time.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced).
    fn renew(
        &self,
        log: &LogId,
        token: FencingToken,
        ttl: Duration,
    ) -> impl Future<Output = Result<Claim, JournalError>> + Send;

    /// Makes what is appended durable, then ends the claim. It ends too where this fails.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced); [`Poisoned`](JournalErrorKind::Poisoned) where relaxed commits may be lost.
    fn release(
        &self,
        log: &LogId,
        token: FencingToken,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Ends the claim as far as that can be done without waiting, for `Drop` and other places that cannot wait.
    ///
    /// What is under way goes on to its end; another claim may be refused until then. It does nothing unless implemented,
    /// which suits a journal whose claims end by time.
    fn abandon(&self, log: &LogId, token: FencingToken) {
        _ = (log, token);
    }

    /// Appends one commit.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced), [`Conflict`](JournalErrorKind::Conflict),
    /// [`TooLarge`](JournalErrorKind::TooLarge), [`Poisoned`](JournalErrorKind::Poisoned).
    fn append(
        &self,
        log: &LogId,
        commit: Commit,
    ) -> impl Future<Output = Result<Committed, JournalError>> + Send;

    /// Makes all that was appended before it durable.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced), [`Poisoned`](JournalErrorKind::Poisoned).
    fn flush(
        &self,
        log: &LogId,
        token: FencingToken,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Writes down what the log comes to at its end, so that records before it need not be read again.
    ///
    /// [`Snapshot::upto`] is the end of the log as an append would expect it. Repeating a snapshot changes nothing. How many
    /// older snapshots and records stay readable is the journal's policy.
    ///
    /// # Errors
    ///
    /// As for [`append`](Self::append).
    fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// What is in the log, from where `from` says to its end.
    ///
    /// # Errors
    ///
    /// [`NotFound`](JournalErrorKind::NotFound), [`Compacted`](JournalErrorKind::Compacted),
    /// [`Damaged`](JournalErrorKind::Damaged).
    fn read(
        &self,
        log: &LogId,
        from: ReadFrom,
    ) -> impl Future<Output = Result<LogContents, JournalError>> + Send;

    /// Sends a signal to whoever owns the log, or will. It is durable once this is answered, where the journal is.
    ///
    /// # Errors
    ///
    /// [`NotFound`](JournalErrorKind::NotFound), [`TooLarge`](JournalErrorKind::TooLarge),
    /// [`Full`](JournalErrorKind::Full).
    fn signal(&self, log: &LogId, signal: Signal) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// The signals that wait and that this claim has not been told of yet; maybe none. Who begins to work under a claim
    /// looks here first for what was said before.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced).
    fn waiting_signals(
        &self,
        log: &LogId,
        token: FencingToken,
    ) -> impl Future<Output = Result<Vec<Signal>, JournalError>> + Send;

    /// Waits for signals that this claim has not been told of yet, and gives them; never none.
    ///
    /// # Errors
    ///
    /// [`Fenced`](JournalErrorKind::Fenced), also as soon as the claim ends while this waits.
    fn next_signals(
        &self,
        log: &LogId,
        token: FencingToken,
    ) -> impl Future<Output = Result<Vec<Signal>, JournalError>> + Send;
}
