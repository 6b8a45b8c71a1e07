//! A journal that stops answering.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents, LogId,
    OwnerId, ReadFrom, Signal, Snapshot,
};
use convoke_journal::MemoryJournal;

/// Appends, and never says so, while it is told to.
#[derive(Clone, Default)]
pub(crate) struct StalledJournal {
    pub(crate) inner: MemoryJournal,
    pub(crate) is_stalled: Arc<AtomicBool>,
}

impl StalledJournal {
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, Ordering::Relaxed);
    }

    async fn answer<T>(&self, answer: T) -> T {
        if self.is_stalled.load(Ordering::Relaxed) { pending().await } else { answer }
    }
}

impl Journal for StalledJournal {
    fn capabilities(&self) -> JournalCapabilities {
        self.inner.capabilities()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.inner.create(log).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.inner.delete(log, token).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.answer(()).await;
        self.inner.claim(log, owner, ttl).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.inner.renew(log, token, ttl).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.inner.release(log, token).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.inner.abandon(log, token);
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        let appended = self.inner.append(log, commit).await;
        self.answer(appended).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.inner.flush(log, token).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.inner.compact(log, token, snapshot).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.inner.read(log, from).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.inner.signal(log, signal).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.inner.waiting_signals(log, token).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.inner.next_signals(log, token).await
    }
}
