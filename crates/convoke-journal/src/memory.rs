//! A journal in memory.

mod log;

use std::{collections::BTreeMap, fmt, ops::Bound, sync::Arc, time::Duration};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents, LogId,
    OwnerId, ReadFrom, Signal, Snapshot,
};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::{REMEMBERED, Retain, limits, memory::log::MemoryLog, refusal};

/// A journal in memory: claims end by time, nothing survives the process. Cloning shares it.
///
/// Time is tokio's, so that tests can pause it; without a claim that expires it needs no runtime.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_core::{Commit, Journal, ReadFrom, Sequence};
/// use convoke_journal::MemoryJournal;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = MemoryJournal::new();
/// let (log, owner) = ("plan/7".try_into()?, "host-1".try_into()?);
/// journal.create(&log).await?;
/// let claim = journal.claim(&log, &owner, Duration::from_secs(30)).await?;
/// journal.append(&log, Commit::new("c0".try_into()?, claim.token, Sequence::START).with_record("begun")).await?;
///
/// let contents = journal.read(&log, ReadFrom::Latest).await?;
/// assert_eq!(contents.records[0].as_bytes(), b"begun");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryJournal(Arc<Inner>);

struct Inner {
    retain: Retain,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    logs: BTreeMap<LogId, MemoryLog>,
    /// Over all logs, so that a log that was deleted and made anew does not give an old token again.
    claims: u64,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::retaining(Retain::default())
    }

    /// An empty journal that keeps so much of the past.
    pub fn retaining(retain: Retain) -> Self {
        Self(Arc::new(Inner { retain, state: Mutex::default() }))
    }

    /// Calls `act` with the log.
    fn with<T>(
        &self,
        log: &LogId,
        act: impl FnOnce(&mut MemoryLog) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let mut state = self.0.state.lock();
        let found = state.logs.get_mut(log).ok_or_else(|| JournalError::not_found(log))?;
        act(found)
    }

    /// Calls `act` with the log where `token` is that of its owner.
    fn owned<T>(
        &self,
        log: &LogId,
        token: FencingToken,
        act: impl FnOnce(&mut MemoryLog) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let mut state = self.0.state.lock();
        match state.logs.get_mut(log).filter(|found| found.is_owned_under(token)) {
            Some(found) => act(found),
            None => Err(refusal::fenced(log, token)),
        }
    }

    /// The signals that the claim has not been told of, and what tells of more.
    fn untold(&self, log: &LogId, token: FencingToken) -> Result<(Vec<Signal>, Arc<Notify>), JournalError> {
        self.owned(log, token, |found| Ok((found.tell(), found.changed())))
    }
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal")
            .field("logs", &self.0.state.lock().logs.len())
            .field("retain", &self.0.retain)
            .finish()
    }
}

impl Journal for MemoryJournal {
    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::remembering(REMEMBERED).with_ttl_claims()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        let mut state = self.0.state.lock();
        if state.logs.contains_key(log) {
            return Err(refusal::already_exists(log));
        }
        state.logs.insert(log.clone(), MemoryLog::new(log.clone()));
        Ok(())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        let state = self.0.state.lock();
        let from = state.logs.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        Ok(from.map(|(log, _)| log.clone()).take_while(|log| log.as_str().starts_with(prefix)).collect())
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        let mut state = self.0.state.lock();
        let Some(found) = state.logs.get_mut(log).filter(|found| found.is_owned_under(token)) else {
            return Err(refusal::fenced(log, token));
        };
        found.end();
        state.logs.remove(log);
        Ok(())
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        let now = Instant::now();
        let mut state = self.0.state.lock();
        let token = FencingToken::new(state.claims + 1);
        let found = state.logs.get_mut(log).ok_or_else(|| JournalError::not_found(log))?;
        let claim = found.claim(owner, token, now, ttl)?;
        state.claims = token.get();
        Ok(claim)
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        let now = Instant::now();
        self.owned(log, token, |found| Ok(found.renew(token, now, ttl)))
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.owned(log, token, |found| {
            found.end();
            Ok(())
        })
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        // Where the token is no longer the owner's there is nothing to end.
        _ = self.owned(log, token, |found| {
            found.end();
            Ok(())
        });
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        limits::check_commit(log, &commit)?;
        self.owned(log, commit.token, |found| found.append(&commit))
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.owned(log, token, |_| Ok(()))
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        limits::check_snapshot(log, &snapshot)?;
        let retain = self.0.retain;
        self.owned(log, token, |found| found.compact(snapshot, retain))
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.with(log, |found| found.read(from))
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        limits::check_signal(log, &signal)?;
        self.with(log, |found| found.signal(signal))
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        Ok(self.untold(log, token)?.0)
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        loop {
            let (signals, changed) = self.untold(log, token)?;
            if !signals.is_empty() {
                return Ok(signals);
            }
            let mut change = std::pin::pin!(changed.notified());
            change.as_mut().enable();
            // A signal that came before this future was in line has woken nobody.
            let (signals, _) = self.untold(log, token)?;
            if !signals.is_empty() {
                return Ok(signals);
            }
            change.await;
        }
    }
}
