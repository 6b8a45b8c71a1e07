//! The end of a plan's log: who writes records, in cohorts, one commit under way.

mod cohort;

use std::{
    fmt,
    future::poll_fn,
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use convoke_core::{
    AnyJournal, Claim, Commit, CommitId, FencingToken, Journal as _, JournalError, JournalErrorKind, LogId,
    Record, Sequence, Signal, SignalId, Snapshot,
};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::machine::Durability;

use cohort::Cohort;

/// What a commit may hold, well below what a journal takes.
const COMMIT_BYTES: usize = 16 << 20;

/// What a record costs besides its bytes, at most.
const RECORD_OVERHEAD: usize = 16;

type Doing<T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send>>;

/// What a commit that has ended came to.
struct Written {
    /// All records up to this place in the log are durable, if it was strict.
    durable: Option<Sequence>,
    compaction_due: bool,
}

/// What a writer tells its run.
#[derive(Debug)]
pub(super) enum Told {
    /// All records before this place are durable.
    Durable(Sequence),
    /// Somebody said something.
    Signals(Vec<Signal>),
    /// The journal did not do as asked.
    Failed(JournalError),
}

/// Writes the records of a plan under a claim.
pub(super) struct Writer {
    journal: AnyJournal,
    log: LogId,
    token: FencingToken,
    durability: Durability,
    ttl: Duration,
    expires: Option<Instant>,
    /// Where the next commit goes.
    next: Sequence,
    pending: Vec<Record>,
    taken: Vec<SignalId>,
    /// Whether what was written so far is to become durable now.
    wanted: bool,
    snapshot_due: bool,
    writing: Option<Doing<Written>>,
    listening: Option<Doing<Vec<Signal>>>,
    renewing: Option<Doing<Claim>>,
    renew_at: Option<Pin<Box<Sleep>>>,
    failed: bool,
    cohort: Cohort,
    /// How many commits were begun, which numbers them.
    commits: u64,
}

impl Writer {
    pub(super) fn new(
        journal: AnyJournal,
        log: LogId,
        claim: Claim,
        (durability, ttl): (Durability, Duration),
        next: Sequence,
    ) -> Self {
        let mut writer = Self {
            journal,
            log,
            token: claim.token,
            durability,
            ttl,
            expires: None,
            next,
            pending: Vec::new(),
            taken: Vec::new(),
            wanted: false,
            snapshot_due: false,
            writing: None,
            listening: None,
            renewing: None,
            renew_at: None,
            failed: false,
            cohort: Cohort::default(),
            commits: 0,
        };
        writer.claimed(claim);
        writer
    }

    fn claimed(&mut self, claim: Claim) {
        self.expires = claim.expires;
        self.renew_at = claim.expires.map(|expires| {
            let left = expires.saturating_duration_since(Instant::now());
            Box::pin(sleep_until(expires - left / 3 * 2))
        });
    }

    /// Whether the claim may have gone to another.
    pub(super) fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= Instant::now())
    }

    /// Writes a record behind the others, sooner or later.
    pub(super) fn push(&mut self, record: Record) {
        self.pending.push(record);
    }

    /// Tells with the next commit that a signal was heard.
    pub(super) fn take(&mut self, signal: SignalId) {
        self.taken.push(signal);
    }

    /// Makes durable what was written so far.
    pub(super) fn flush(&mut self) {
        self.wanted = true;
    }

    /// Makes records durable, and waits for that. Signals that come meanwhile wait for the next run.
    pub(super) async fn write(
        &mut self,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<(), JournalError> {
        self.pending.extend(records);
        self.flush();
        self.settled().await
    }

    /// Waits until all that was pushed and wanted is durable.
    pub(super) async fn settled(&mut self) -> Result<(), JournalError> {
        while self.wanted || self.writing.is_some() {
            if let Told::Failed(error) = poll_fn(|cx| self.poll(cx)).await {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether a snapshot of the present state, all records written so far counted in, is worth its bytes.
    pub(super) fn is_snapshot_due(&self) -> bool {
        self.snapshot_due && self.writing.is_none() && !self.failed
    }

    /// Writes what is pending and then a snapshot of what it comes to.
    pub(super) fn compact(&mut self, records: Vec<Record>) {
        self.snapshot_due = false;
        let mut commits = Vec::new();
        while !self.pending.is_empty() {
            commits.push(self.commit(true));
        }
        let durable = self.next;
        let snapshot = Snapshot::new(durable, records);
        let (journal, log, token) = (self.journal.clone(), self.log.clone(), self.token);
        self.writing = Some(Box::pin(async move {
            for commit in commits {
                journal.append(&log, commit).await?;
            }
            match journal.compact(&log, token, snapshot).await {
                // Nothing was done, and the records are there.
                Err(error) if error.kind() != JournalErrorKind::TooLarge => return Err(error),
                _ => {}
            }
            Ok(Written { durable: Some(durable), compaction_due: false })
        }));
    }

    /// The next commit: what is pending, as much of it as one may hold.
    fn commit(&mut self, strict: bool) -> Commit {
        let mut commit = Commit::new(CommitId::of_claim(self.token, self.commits), self.token, self.next);
        self.commits += 1;
        let mut bytes = 0;
        let fits = self.pending.iter().take_while(|record| {
            let first = bytes == 0;
            bytes += record.len() + RECORD_OVERHEAD;
            first || bytes <= COMMIT_BYTES
        });
        let fits = fits.count();
        let behind = self.pending.split_off(fits);
        commit.records = mem::replace(&mut self.pending, behind);
        if self.pending.is_empty() {
            // Not before the record of what it says.
            commit.taken = mem::take(&mut self.taken);
        }
        self.next = commit.next();
        // What did not fit is wanted still.
        self.wanted &= !self.pending.is_empty();
        if strict { commit } else { commit.relaxed() }
    }

    /// Begins the next commit where there is something to write, and none is under way.
    fn begin(&mut self, cx: &mut Context<'_>) {
        if self.writing.is_some() || self.failed {
            return;
        }
        let strict = self.wanted;
        let write = strict || self.durability == Durability::Relaxed && !self.pending.is_empty();
        if !write {
            return;
        }
        let (journal, log, token) = (self.journal.clone(), self.log.clone(), self.token);
        if strict && self.pending.is_empty() && self.taken.is_empty() {
            self.wanted = false;
            let durable = self.next;
            self.writing = Some(Box::pin(async move {
                journal.flush(&log, token).await?;
                Ok(Written { durable: Some(durable), compaction_due: false })
            }));
            return;
        }
        if strict && self.cohort.waits(self.pending.len()) {
            // Whoever else has something to do has his turn, and then this looks again.
            cx.waker().wake_by_ref();
            return;
        }
        let commit = self.commit(strict);
        if strict {
            self.cohort.begun(commit.records.len());
        }
        let durable = strict.then_some(self.next);
        self.writing = Some(Box::pin(async move {
            let committed = journal.append(&log, commit).await?;
            Ok(Written { durable, compaction_due: committed.compaction_due })
        }));
    }

    /// What has come of it, by and by.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Told> {
        if self.failed {
            return Poll::Pending;
        }
        loop {
            self.begin(cx);
            let Some(writing) = &mut self.writing else { break };
            let Poll::Ready(written) = writing.as_mut().poll(cx) else { break };
            self.writing = None;
            match written {
                Ok(written) => {
                    self.snapshot_due |= written.compaction_due;
                    if let Some(durable) = written.durable {
                        self.cohort.ended(self.pending.len());
                        return Poll::Ready(Told::Durable(durable));
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
        if let Poll::Ready(told) = self.poll_claim(cx) {
            return self.fail(told);
        }
        self.poll_signals(cx)
    }

    fn fail(&mut self, error: JournalError) -> Poll<Told> {
        self.failed = true;
        (self.writing, self.listening, self.renewing, self.renew_at) = (None, None, None, None);
        Poll::Ready(Told::Failed(error))
    }

    fn poll_claim(&mut self, cx: &mut Context<'_>) -> Poll<JournalError> {
        loop {
            if let Some(renewing) = &mut self.renewing {
                let Poll::Ready(renewed) = renewing.as_mut().poll(cx) else { return Poll::Pending };
                self.renewing = None;
                match renewed {
                    Ok(claim) => self.claimed(claim),
                    Err(error) => return Poll::Ready(error),
                }
            }
            let Some(renew_at) = &mut self.renew_at else { return Poll::Pending };
            if renew_at.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.renew_at = None;
            let (journal, log, token, ttl) = (self.journal.clone(), self.log.clone(), self.token, self.ttl);
            self.renewing = Some(Box::pin(async move { journal.renew(&log, token, ttl).await }));
        }
    }

    fn poll_signals(&mut self, cx: &mut Context<'_>) -> Poll<Told> {
        let (journal, log, token) = (&self.journal, &self.log, self.token);
        let listening = self.listening.get_or_insert_with(|| {
            let (journal, log) = (journal.clone(), log.clone());
            Box::pin(async move { journal.next_signals(&log, token).await })
        });
        let Poll::Ready(signals) = listening.as_mut().poll(cx) else { return Poll::Pending };
        self.listening = None;
        match signals {
            Ok(signals) => Poll::Ready(Told::Signals(signals)),
            Err(error) => self.fail(error),
        }
    }

    /// The signals that have come and were not heard.
    pub(super) fn waiting_signals(
        &self,
    ) -> impl Future<Output = Result<Vec<Signal>, JournalError>> + Send + use<> {
        let (journal, log, token) = (self.journal.clone(), self.log.clone(), self.token);
        async move { journal.waiting_signals(&log, token).await }
    }

    /// Removes the log. The claim ends with it, or with the writer where that fails.
    pub(super) async fn delete(mut self) -> Result<(), JournalError> {
        let (journal, log, token) = (self.journal.clone(), self.log.clone(), self.token);
        journal.delete(&log, token).await?;
        self.token = FencingToken::new(0);
        Ok(())
    }

    /// Tells of the signals that were heard and had no record, and gives the log back.
    pub(super) async fn release(mut self) -> Result<(), JournalError> {
        if !self.failed && !self.taken.is_empty() {
            let commit = self.commit(true);
            self.journal.append(&self.log, commit).await?;
        }
        let (journal, log, token) = (self.journal.clone(), self.log.clone(), self.token);
        // From here on there is nothing to abandon.
        self.failed = true;
        self.token = FencingToken::new(0);
        journal.release(&log, token).await
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.token != FencingToken::new(0) {
            self.journal.abandon(&self.log, self.token);
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("log", &self.log)
            .field("token", &self.token)
            .field("next", &self.next)
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
