//! A journal that fails on purpose.

use std::{fmt, sync::Arc, time::Duration};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, JournalErrorKind,
    LogContents, LogId, OwnerId, ReadFrom, Signal, Snapshot,
};
use parking_lot::Mutex;

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalFault {
    /// It does not happen, and the caller gets an error of kind `Io`.
    Before,
    /// It happens, and the caller gets an error of kind `Io` all the same: the answer is lost.
    After,
    /// It does not happen, and nothing under this claim does any more: all of it is `Poisoned`.
    Poison,
}

/// Stands before a journal and lets chosen writes fail. Cloning shares the count.
///
/// Writes are `append`, `compact`, `flush` and `release`, counted from 0 over all logs. All else reaches the journal.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_core::{Commit, Journal, JournalErrorKind, Sequence};
/// use convoke_journal::MemoryJournal;
/// use convoke_testkit::{FaultyJournal, JournalFault};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = FaultyJournal::new(MemoryJournal::new()).failing(0, JournalFault::After);
/// let (log, owner) = ("plan/7".try_into()?, "host-1".try_into()?);
/// journal.create(&log).await?;
/// let claim = journal.claim(&log, &owner, Duration::from_secs(30)).await?;
///
/// let commit = Commit::new("c0".try_into()?, claim.token, Sequence::START).with_record("begun");
/// let lost = journal.append(&log, commit.clone()).await.unwrap_err();
/// assert_eq!(lost.kind(), JournalErrorKind::Io);
/// // It had happened: the repeat says so.
/// assert_eq!(journal.append(&log, commit).await?.next, Sequence::new(1));
/// # Ok(())
/// # }
/// ```
pub struct FaultyJournal<J> {
    journal: Arc<J>,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    writes: u64,
    faults: Vec<(u64, JournalFault)>,
    poisoned: Vec<(LogId, FencingToken)>,
}

impl<J: Journal> FaultyJournal<J> {
    /// Lets everything through until told otherwise.
    pub fn new(journal: J) -> Self {
        Self { journal: Arc::new(journal), script: Arc::default() }
    }

    /// Lets the write of this number fail.
    #[must_use]
    pub fn failing(self, write: u64, fault: JournalFault) -> Self {
        self.script.lock().faults.push((write, fault));
        self
    }

    /// How many writes came, failed or not.
    pub fn writes(&self) -> u64 {
        self.script.lock().writes
    }

    /// The journal behind it.
    pub fn inner(&self) -> &J {
        &self.journal
    }

    async fn write<T>(
        &self,
        log: &LogId,
        token: FencingToken,
        write: impl Future<Output = Result<T, JournalError>> + Send,
    ) -> Result<T, JournalError> {
        let fault = self.script.lock().next(log, token);
        match fault {
            None => write.await,
            Some(JournalFault::Before) => Err(error(JournalErrorKind::Io, log)),
            Some(JournalFault::Poison) => Err(error(JournalErrorKind::Poisoned, log)),
            Some(JournalFault::After) => {
                write.await?;
                Err(error(JournalErrorKind::Io, log))
            }
        }
    }
}

fn error(kind: JournalErrorKind, log: &LogId) -> JournalError {
    JournalError::new(kind, log, "is not written to, on purpose")
}

impl Script {
    fn next(&mut self, log: &LogId, token: FencingToken) -> Option<JournalFault> {
        let write = self.writes;
        self.writes += 1;
        if self.poisoned.iter().any(|(poisoned, under)| poisoned == log && *under == token) {
            return Some(JournalFault::Poison);
        }
        let fault = self.faults.iter().find(|(number, _)| *number == write).map(|(_, fault)| *fault);
        if fault == Some(JournalFault::Poison) {
            self.poisoned.push((log.clone(), token));
        }
        fault
    }
}

impl<J> Clone for FaultyJournal<J> {
    fn clone(&self) -> Self {
        Self { journal: Arc::clone(&self.journal), script: Arc::clone(&self.script) }
    }
}

impl<J> fmt::Debug for FaultyJournal<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.script.lock();
        f.debug_struct("FaultyJournal")
            .field("writes", &script.writes)
            .field("faults", &script.faults)
            .finish_non_exhaustive()
    }
}

impl<J: Journal> Journal for FaultyJournal<J> {
    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.journal.create(log).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.journal.list(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.journal.delete(log, token).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.journal.claim(log, owner, ttl).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.journal.renew(log, token, ttl).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.write(log, token, self.journal.release(log, token)).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.journal.abandon(log, token);
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        self.write(log, commit.token, self.journal.append(log, commit)).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.write(log, token, self.journal.flush(log, token)).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.write(log, token, self.journal.compact(log, token, snapshot)).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.journal.read(log, from).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.journal.signal(log, signal).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.journal.waiting_signals(log, token).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.journal.next_signals(log, token).await
    }
}
