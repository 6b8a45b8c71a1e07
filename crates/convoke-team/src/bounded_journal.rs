//! A journal whose answers are waited for no longer than a runtime allows.

use std::time::Duration;

use tokio::time::timeout;

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, JournalErrorKind,
    LogContents, LogId, OwnerId, ReadFrom, Signal, Snapshot,
};

/// A journal with an end to each call: one that takes longer has failed with an unknown outcome.
#[derive(Debug)]
pub(crate) struct BoundedJournal<J> {
    journal: J,
    longest: Duration,
}

impl<J: Journal> BoundedJournal<J> {
    pub(crate) fn new(journal: J, longest: Duration) -> Self {
        Self { journal, longest }
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, JournalError>> + Send,
        late: impl FnOnce(String) -> JournalError + Send,
    ) -> Result<T, JournalError> {
        timeout(self.longest, call).await.unwrap_or_else(|_| {
            let longest = self.longest;
            Err(late(format!("did not answer within {longest:?}; look at it, or raise `settle_timeout`")))
        })
    }

    async fn of_log<T>(
        &self,
        log: &LogId,
        call: impl Future<Output = Result<T, JournalError>> + Send,
    ) -> Result<T, JournalError> {
        self.within(call, |problem| JournalError::new(JournalErrorKind::Io, log, problem)).await
    }
}

impl<J: Journal> Journal for BoundedJournal<J> {
    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.of_log(log, self.journal.create(log)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        let late = |problem| JournalError::of_journal(JournalErrorKind::Io, problem);
        self.within(self.journal.list(prefix), late).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.of_log(log, self.journal.delete(log, token)).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.of_log(log, self.journal.claim(log, owner, ttl)).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.of_log(log, self.journal.renew(log, token, ttl)).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.of_log(log, self.journal.release(log, token)).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.journal.abandon(log, token);
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        self.of_log(log, self.journal.append(log, commit)).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.of_log(log, self.journal.flush(log, token)).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.of_log(log, self.journal.compact(log, token, snapshot)).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.of_log(log, self.journal.read(log, from)).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.of_log(log, self.journal.signal(log, signal)).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.of_log(log, self.journal.waiting_signals(log, token)).await
    }

    /// Waits as long as there is none.
    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.journal.next_signals(log, token).await
    }
}
