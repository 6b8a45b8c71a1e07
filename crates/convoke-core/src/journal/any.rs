//! Any journal as one type.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use super::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents,
    ReadFrom, Signal, Snapshot,
};
use crate::{LogId, OwnerId};

/// Any [`Journal`] as one type, for choices made at run time. Cloning shares it.
#[derive(Clone)]
pub struct AnyJournal(Arc<dyn Erased>);

impl AnyJournal {
    /// Wraps a journal.
    pub fn new(journal: impl Journal) -> Self {
        Self(Arc::new(journal))
    }
}

impl fmt::Debug for AnyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyJournal").field(&self.capabilities()).finish()
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

impl Journal for AnyJournal {
    fn capabilities(&self) -> JournalCapabilities {
        self.0.capabilities_of()
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.0.abandon_now(log, token);
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.0.create_boxed(log).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.0.list_boxed(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.0.delete_boxed(log, token).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.0.claim_boxed(log, owner, ttl).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.0.renew_boxed(log, token, ttl).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.0.release_boxed(log, token).await
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        self.0.append_boxed(log, commit).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.0.flush_boxed(log, token).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.0.compact_boxed(log, token, snapshot).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.0.read_boxed(log, from).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.0.signal_boxed(log, signal).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.0.waiting_signals_boxed(log, token).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.0.next_signals_boxed(log, token).await
    }
}

trait Erased: Send + Sync {
    fn capabilities_of(&self) -> JournalCapabilities;
    fn abandon_now(&self, log: &LogId, token: FencingToken);
    fn create_boxed<'a>(&'a self, log: &'a LogId) -> Answer<'a, ()>;
    fn list_boxed<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<LogId>>;
    fn delete_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()>;
    fn claim_boxed<'a>(&'a self, log: &'a LogId, owner: &'a OwnerId, ttl: Duration) -> Answer<'a, Claim>;
    fn renew_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken, ttl: Duration) -> Answer<'a, Claim>;
    fn release_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()>;
    fn append_boxed<'a>(&'a self, log: &'a LogId, commit: Commit) -> Answer<'a, Committed>;
    fn flush_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()>;
    fn compact_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken, snapshot: Snapshot)
    -> Answer<'a, ()>;
    fn read_boxed<'a>(&'a self, log: &'a LogId, from: ReadFrom) -> Answer<'a, LogContents>;
    fn signal_boxed<'a>(&'a self, log: &'a LogId, signal: Signal) -> Answer<'a, ()>;
    fn waiting_signals_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, Vec<Signal>>;
    fn next_signals_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, Vec<Signal>>;
}

impl<J: Journal> Erased for J {
    fn capabilities_of(&self) -> JournalCapabilities {
        self.capabilities()
    }

    fn abandon_now(&self, log: &LogId, token: FencingToken) {
        self.abandon(log, token);
    }

    fn create_boxed<'a>(&'a self, log: &'a LogId) -> Answer<'a, ()> {
        Box::pin(self.create(log))
    }

    fn list_boxed<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<LogId>> {
        Box::pin(self.list(prefix))
    }

    fn delete_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()> {
        Box::pin(self.delete(log, token))
    }

    fn claim_boxed<'a>(&'a self, log: &'a LogId, owner: &'a OwnerId, ttl: Duration) -> Answer<'a, Claim> {
        Box::pin(self.claim(log, owner, ttl))
    }

    fn renew_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken, ttl: Duration) -> Answer<'a, Claim> {
        Box::pin(self.renew(log, token, ttl))
    }

    fn release_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()> {
        Box::pin(self.release(log, token))
    }

    fn append_boxed<'a>(&'a self, log: &'a LogId, commit: Commit) -> Answer<'a, Committed> {
        Box::pin(self.append(log, commit))
    }

    fn flush_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, ()> {
        Box::pin(self.flush(log, token))
    }

    fn compact_boxed<'a>(
        &'a self,
        log: &'a LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Answer<'a, ()> {
        Box::pin(self.compact(log, token, snapshot))
    }

    fn read_boxed<'a>(&'a self, log: &'a LogId, from: ReadFrom) -> Answer<'a, LogContents> {
        Box::pin(self.read(log, from))
    }

    fn signal_boxed<'a>(&'a self, log: &'a LogId, signal: Signal) -> Answer<'a, ()> {
        Box::pin(self.signal(log, signal))
    }

    fn waiting_signals_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, Vec<Signal>> {
        Box::pin(self.waiting_signals(log, token))
    }

    fn next_signals_boxed<'a>(&'a self, log: &'a LogId, token: FencingToken) -> Answer<'a, Vec<Signal>> {
        Box::pin(self.next_signals(log, token))
    }
}
