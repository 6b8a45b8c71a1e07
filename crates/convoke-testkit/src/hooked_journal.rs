//! A journal that asks a test about each call, before it and after.

use std::{fmt, sync::Arc, time::Duration};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents, LogId,
    OwnerId, ReadFrom, Signal, Snapshot,
};
use futures_util::future::BoxFuture;

/// A call of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the method of its name")]
pub enum JournalCall {
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

/// When a hook is asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalMoment {
    /// Before it: an error keeps it from happening.
    Before,
    /// Once it has succeeded: an error loses the answer.
    After,
}

/// What a hook says: the call goes on, or fails; and that in its own time.
pub type HookAnswer = BoxFuture<'static, Result<(), JournalError>>;

type Hook = dyn Fn(JournalCall, JournalMoment) -> HookAnswer + Send + Sync;

/// The call goes on.
pub fn go_on() -> HookAnswer {
    Box::pin(async { Ok(()) })
}

/// Stands before a journal and asks a hook about each call, before it and after: to let it fail, wait, or be counted. Cloning
/// shares the hook. For faults by the number of a write, [`FaultyJournal`](crate::FaultyJournal) says them shorter.
///
/// ```
/// use convoke_core::{Journal, JournalError, JournalErrorKind, LogId};
/// use convoke_journal::MemoryJournal;
/// use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = HookedJournal::new(MemoryJournal::new(), |call, moment| match (call, moment) {
///     (JournalCall::Create, JournalMoment::Before) => Box::pin(async {
///         Err(JournalError::of_journal(JournalErrorKind::Io, "has no place left; make some"))
///     }),
///     _ => go_on(),
/// });
/// assert!(journal.create(&LogId::new("plan/7")?).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HookedJournal<J> {
    journal: J,
    hook: Arc<Hook>,
}

impl<J: Journal> HookedJournal<J> {
    /// Asks `hook` about the calls of `journal`, but for `list`, `abandon` and `capabilities`.
    pub fn new(
        journal: J,
        hook: impl Fn(JournalCall, JournalMoment) -> HookAnswer + Send + Sync + 'static,
    ) -> Self {
        Self { journal, hook: Arc::new(hook) }
    }

    async fn told<T>(
        &self,
        call: JournalCall,
        doing: impl Future<Output = Result<T, JournalError>> + Send,
    ) -> Result<T, JournalError> {
        (self.hook)(call, JournalMoment::Before).await?;
        let done = doing.await?;
        (self.hook)(call, JournalMoment::After).await?;
        Ok(done)
    }
}

impl<J> fmt::Debug for HookedJournal<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedJournal")
    }
}

impl<J: Journal> Journal for HookedJournal<J> {
    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.told(JournalCall::Create, self.journal.create(log)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.journal.list(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(JournalCall::Delete, self.journal.delete(log, token)).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        self.told(JournalCall::Claim, self.journal.claim(log, owner, ttl)).await
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        self.told(JournalCall::Renew, self.journal.renew(log, token, ttl)).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(JournalCall::Release, self.journal.release(log, token)).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.journal.abandon(log, token);
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        self.told(JournalCall::Append, self.journal.append(log, commit)).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.told(JournalCall::Flush, self.journal.flush(log, token)).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        self.told(JournalCall::Compact, self.journal.compact(log, token, snapshot)).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.told(JournalCall::Read, self.journal.read(log, from)).await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        self.told(JournalCall::Signal, self.journal.signal(log, signal)).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.told(JournalCall::WaitingSignals, self.journal.waiting_signals(log, token)).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.told(JournalCall::NextSignals, self.journal.next_signals(log, token)).await
    }
}
