//! The one writer of a session's log.

use std::{
    fmt,
    future::poll_fn,
    mem,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use convoke_core::{
    AnyJournal, Commit, CommitId, FencingToken, Journal, JournalError, JournalErrorKind, LogId, OwnerId,
    ReadFrom, Record, Sequence, SessionId, Snapshot,
};

use super::Keeper;
use crate::{
    Session, StoreError, StoreErrorKind, codec,
    machine::{Change, State, Waiter},
    session::WeakSession,
};

/// How many commits are encoded at a time.
const MOST_COMMITS: usize = 64;

/// From how many bytes on the commits that follow go into another append.
const MOST_BYTES: usize = 4 << 20;

/// Writes what a session decides to its log, and shows it to the readers of the session then. Comes with the session from
/// [`SessionStore::open`](crate::SessionStore::open).
///
/// Dropped, it ends the claim; each later write of the session is refused.
pub struct Recorder {
    pub(super) session: SessionId,
    pub(super) recorded: WeakSession,
    pub(super) keeper: Arc<Keeper>,
    pub(super) journal: AnyJournal,
    pub(super) owner: OwnerId,
    pub(super) ttl: Duration,
    pub(super) log: LogId,
    pub(super) token: FencingToken,
    pub(super) next: Sequence,
    /// Nothing was written since the log was read after a failure.
    pub(super) is_recovering: bool,
    /// What failed last is too large for the journal.
    pub(super) is_too_large: bool,
}

impl Recorder {
    /// Records until the session is removed or its last clone is gone, then releases the claim.
    ///
    /// Commits that wait together are appended together. After an append that failed the log is claimed and read again,
    /// which says what has become of it; where that fails too, it is tried again with the next write. `beat` is asked for
    /// a future again and again, and the claim is renewed when that is ready: give it a third of
    /// [`claim_ttl`](crate::SessionStore::claim_ttl), or [`pending`](std::future::pending) where claims do not end by time.
    ///
    /// # Cancel safety
    ///
    /// As the drop of the recorder: what is being appended may happen.
    pub async fn run<F: Future<Output = ()> + Send>(mut self, mut beat: impl FnMut() -> F + Send) {
        let keeper = Arc::clone(&self.keeper);
        let mut beating = Box::pin(beat());
        let mut is_beat = false;
        let mut working: Option<Session> = None;
        loop {
            is_beat = is_beat || beating.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            if is_beat {
                // A claim that is lost shows at the next append, and any other failure there or never.
                _ = self.journal.renew(&self.log, self.token, self.ttl).await;
                beating.set(beat());
                is_beat = false;
                continue;
            }
            let (given, is_closed) = keeper.take();
            match working.take().or(given) {
                Some(session) => {
                    self.step(&session).await;
                    let has_more = session.machine().has_work();
                    working = has_more.then_some(session);
                }
                None if is_closed => break,
                None => {
                    let mut woken = pin!(keeper.woken());
                    is_beat = poll_fn(|cx| match beating.as_mut().poll(cx) {
                        Poll::Ready(()) => Poll::Ready(true),
                        Poll::Pending => woken.as_mut().poll(cx).map(|()| false),
                    })
                    .await;
                }
            }
        }
        // Where the claim is another's there is nothing to release.
        _ = self.journal.release(&self.log, self.token).await;
    }

    /// Writes what the session makes of its log as it is loaded.
    pub(super) async fn begin(&mut self, session: &Session) -> Result<(), StoreError> {
        while session.machine().has_work() {
            self.write(session).await?;
        }
        Ok(())
    }

    async fn step(&mut self, session: &Session) {
        let (has_work, is_unsure) = {
            let machine = session.machine();
            (machine.has_work(), machine.is_unsure())
        };
        if !has_work {
            // Whoever woke this has the answer of what was under way then.
        } else if is_unsure {
            self.recover(session).await;
        } else if let Err(error) = self.write(session).await {
            let is_lost = error.kind() != StoreErrorKind::Failed;
            let waiters = {
                let mut machine = session.machine();
                let waiters = machine.fail(error.clone(), is_lost);
                if mem::take(&mut self.is_too_large) {
                    machine.slim();
                }
                waiters
            };
            tell(waiters, &Err(error));
            // Where the log takes nothing after it was read, the next writer may find it better.
            if !is_lost && !self.is_recovering {
                self.recover(session).await;
            }
        }
    }

    /// Appends a batch.
    async fn write(&mut self, session: &Session) -> Result<(), StoreError> {
        let batch = session.machine().take_batch(MOST_COMMITS);
        let records: Vec<_> = batch
            .iter()
            .map(|(revision, changes): &(u64, Vec<Change>)| codec::encode(&self.session, *revision, changes))
            .collect::<Result<_, _>>()?;
        let mut rest = records.as_slice();
        let mut is_compaction_due = false;
        while !rest.is_empty() {
            let (records, later) = rest.split_at(fitting(rest));
            rest = later;
            is_compaction_due |= self.append(session, records).await?;
        }
        if is_compaction_due {
            self.compact(session).await?;
        }
        Ok(())
    }

    /// Says whether a compaction pays.
    async fn append(&mut self, session: &Session, records: &[Record]) -> Result<bool, StoreError> {
        let id = CommitId::of_claim(self.token, self.next.get());
        let commit = Commit::new(id, self.token, self.next).with_records(records.iter().cloned());
        match self.journal.append(&self.log, commit).await {
            Ok(committed) => {
                self.next = committed.next;
                self.is_recovering = false;
                tell(session.machine().written(records.len()), &Ok(()));
                Ok(committed.compaction_due)
            }
            Err(error) => {
                self.is_too_large = error.kind() == JournalErrorKind::TooLarge;
                Err(self.error(&error))
            }
        }
    }

    async fn compact(&mut self, session: &Session) -> Result<(), StoreError> {
        let state = session.machine().snapshot();
        let snapshot = Snapshot::new(self.next, codec::encode_snapshot(&state)?);
        drop(state);
        match self.journal.compact(&self.log, self.token, snapshot).await {
            // The log stays as long as it is.
            Err(error) if error.kind() == JournalErrorKind::TooLarge => Ok(()),
            compacted => compacted.map_err(|error| self.error(&error)),
        }
    }

    /// Finds out what is in the log, under a new claim: nothing of the old one can come after that.
    async fn recover(&mut self, session: &Session) {
        self.is_recovering = true;
        match self.reload().await {
            Ok(state) => tell(session.machine().recovered(state), &Ok(())),
            Err(error) => {
                let is_lost = error.kind() != StoreErrorKind::Failed;
                tell(session.machine().fail(error.clone(), is_lost), &Err(error));
            }
        }
    }

    async fn reload(&mut self) -> Result<State, StoreError> {
        let claim = self.journal.claim(&self.log, &self.owner, self.ttl).await;
        self.token = claim.map_err(|error| self.error(&error))?.token;
        let contents = self.journal.read(&self.log, ReadFrom::Latest).await;
        let contents = contents.map_err(|error| self.error(&error))?;
        let state = codec::decode(&self.session, &contents)?;
        self.next = contents.next;
        Ok(state)
    }

    fn error(&self, error: &JournalError) -> StoreError {
        StoreError::of_journal(&self.session, error)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.journal.abandon(&self.log, self.token);
        self.keeper.leave();
        if let Some(session) = self.recorded.upgrade() {
            session.lose_recorder();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("session", &self.session)
            .field("token", &self.token)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// How many of the records go into one append; at least one.
fn fitting(records: &[Record]) -> usize {
    let mut bytes = 0;
    let fits = records.iter().take_while(|record| {
        bytes += record.len();
        bytes <= MOST_BYTES
    });
    fits.count().max(1)
}

/// Outside the lock of the session. Whoever has gone hears nothing.
pub(crate) fn tell(waiters: Vec<Waiter>, outcome: &Result<(), StoreError>) {
    for waiter in waiters {
        _ = waiter.send(outcome.clone());
    }
}
