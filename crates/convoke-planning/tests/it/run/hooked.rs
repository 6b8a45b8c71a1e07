//! A journal that asks a test about each call, before it and after.

use std::{fmt, sync::Arc, time::Duration};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents, LogId,
    OwnerId, ReadFrom, Signal, Snapshot,
};
use futures_util::future::BoxFuture;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Claim,
    Append,
    Compact,
    Flush,
    Release,
    Delete,
    Renew,
    Read,
    Signal,
    WaitingSignals,
    NextSignals,
}

/// An error before a call keeps it from happening; after it, the answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

pub(crate) type Said = BoxFuture<'static, Result<(), JournalError>>;

type Hook = dyn Fn(Call, When) -> Said + Send + Sync;

/// The call goes on.
pub(crate) fn go_on() -> Said {
    Box::pin(async { Ok(()) })
}

#[derive(Clone)]
pub(crate) struct Hooked<J> {
    journal: J,
    hook: Arc<Hook>,
}

impl<J: Journal> Hooked<J> {
    pub(crate) fn new(journal: J, hook: impl Fn(Call, When) -> Said + Send + Sync + 'static) -> Self {
        Self { journal, hook: Arc::new(hook) }
    }

    async fn told<T>(
        &self,
        call: Call,
        doing: impl Future<Output = Result<T, JournalError>> + Send,
    ) -> Result<T, JournalError> {
        (self.hook)(call, When::Before).await?;
        let done = doing.await?;
        (self.hook)(call, When::After).await?;
        Ok(done)
    }
}

impl<J> fmt::Debug for Hooked<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

impl<J: Journal> Journal for Hooked<J> {
    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.told(Call::Create, self.journal.create(log)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.journal.list(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(Call::Delete, self.journal.delete(log, token)).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.told(Call::Claim, self.journal.claim(log, owner, ttl)).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.told(Call::Renew, self.journal.renew(log, token, ttl)).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(Call::Release, self.journal.release(log, token)).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.journal.abandon(log, token);
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        self.told(Call::Append, self.journal.append(log, commit)).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(Call::Flush, self.journal.flush(log, token)).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.told(Call::Compact, self.journal.compact(log, token, snapshot)).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.told(Call::Read, self.journal.read(log, from)).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.told(Call::Signal, self.journal.signal(log, signal)).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.told(Call::WaitingSignals, self.journal.waiting_signals(log, token)).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.told(Call::NextSignals, self.journal.next_signals(log, token)).await
    }
}
