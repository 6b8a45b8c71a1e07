//! The suites for journals.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use convoke_core::{
    AnyJournal, Claim, Commit, CommitId, Committed, FencingToken, Journal, JournalCapabilities, JournalError,
    LogContents, LogId, OwnerId, ReadFrom, Signal, SignalId, Snapshot,
};
use convoke_journal::{FileJournal, MemoryJournal};
use convoke_testkit::{FaultyJournal, conformance};

#[tokio::test(start_paused = true)]
async fn a_memory_journal_conforms() {
    conformance::journal(&MemoryJournal::new()).await;
}

#[tokio::test(start_paused = true)]
async fn journals_around_others_conform() {
    let folder = tempfile::tempdir().unwrap();
    let file = FileJournal::open(folder.path()).await.unwrap();
    conformance::journal(&AnyJournal::new(FaultyJournal::new(file))).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    conformance::durable_journal(async || FileJournal::open(folder.path()).await.unwrap()).await;
}

/// What is wrong with a journal.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    ForgetsRepeats,
    LosesTheLastRecord,
    TakesAnyOwner,
    TakesAnyToken,
    NeverExpires,
    IgnoresSnapshots,
    LosesSignals,
    DoublesSignals,
    HidesWaitingSignals,
    TellsTheEndToNobody,
    IsNotDurable,
}

use Fault::{
    DoublesSignals, ForgetsRepeats, HidesWaitingSignals, IgnoresSnapshots, IsNotDurable, LosesSignals,
    LosesTheLastRecord, NeverExpires, TakesAnyOwner, TakesAnyToken, TellsTheEndToNobody,
};

/// A journal in memory that breaks one rule.
struct Odd {
    memory: MemoryJournal,
    fault: Fault,
    calls: AtomicU64,
    tokens: Mutex<HashMap<LogId, FencingToken>>,
}

impl Odd {
    fn new(fault: Fault) -> Self {
        Self { memory: MemoryJournal::new(), fault, calls: AtomicU64::new(0), tokens: Mutex::default() }
    }

    fn call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl Journal for Odd {
    fn capabilities(&self) -> JournalCapabilities {
        let capabilities = self.memory.capabilities();
        if self.fault == IsNotDurable { capabilities.with_durability() } else { capabilities }
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.memory.create(log).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        self.memory.list(prefix).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.memory.delete(log, token).await
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, ttl: Duration) -> Result<Claim, JournalError> {
        let anybody = OwnerId::new("anybody").unwrap();
        let owner = if self.fault == TakesAnyOwner { &anybody } else { owner };
        let ttl = if self.fault == NeverExpires { Duration::MAX } else { ttl };
        let claim = self.memory.claim(log, owner, ttl).await?;
        self.tokens.lock().unwrap().insert(log.clone(), claim.token);
        Ok(claim)
    }

    async fn renew(&self, log: &LogId, token: FencingToken, ttl: Duration) -> Result<Claim, JournalError> {
        let ttl = if self.fault == NeverExpires { Duration::MAX } else { ttl };
        self.memory.renew(log, token, ttl).await
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.memory.release(log, token).await
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        self.memory.abandon(log, token);
    }

    async fn append(&self, log: &LogId, mut commit: Commit) -> Result<Committed, JournalError> {
        match self.fault {
            ForgetsRepeats => commit.id = CommitId::new(format!("{}-{}", commit.id, self.call())).unwrap(),
            LosesTheLastRecord => _ = commit.records.pop(),
            TakesAnyToken => {
                let token = self.tokens.lock().unwrap().get(log).copied();
                commit.token = token.unwrap_or(commit.token);
            }
            _ => {}
        }
        self.memory.append(log, commit).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.memory.flush(log, token).await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        if self.fault == IgnoresSnapshots {
            return self.memory.flush(log, token).await;
        }
        self.memory.compact(log, token, snapshot).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.memory.read(log, from).await
    }

    async fn signal(&self, log: &LogId, mut signal: Signal) -> Result<(), JournalError> {
        match self.fault {
            LosesSignals => return self.memory.read(log, ReadFrom::Latest).await.map(|_| ()),
            DoublesSignals if signal.id.as_str() == "early" && self.call() > 0 => {
                signal.id = SignalId::new("again").unwrap();
            }
            _ => {}
        }
        self.memory.signal(log, signal).await
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        let told = self.memory.waiting_signals(log, token).await?;
        Ok(if self.fault == HidesWaitingSignals { vec![] } else { told })
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        let told = self.memory.next_signals(log, token).await;
        if told.is_err() && self.fault == TellsTheEndToNobody && self.call() > 0 {
            std::future::pending::<()>().await;
        }
        told
    }
}

async fn check(fault: Fault) {
    conformance::journal(&Odd::new(fault)).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "refused what should be done: log `conformance/repeats` ends at 2, not at 0")]
async fn a_journal_that_forgets_repeats_is_found() {
    check(ForgetsRepeats).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "what a commit did")]
async fn a_journal_that_loses_a_record_is_found() {
    check(LosesTheLastRecord).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "did what should be refused with Claimed")]
async fn a_journal_with_two_owners_is_found() {
    check(TakesAnyOwner).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "did what should be refused with Fenced")]
async fn a_journal_that_fences_nobody_is_found() {
    check(TakesAnyToken).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "is claimed by `a`; try again once it is released")]
async fn a_journal_whose_claims_never_end_is_found() {
    check(NeverExpires).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "did what should be refused with Conflict")]
async fn a_journal_that_ignores_snapshots_is_found() {
    check(IgnoresSnapshots).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no signal was heard within 10s")]
async fn a_journal_that_loses_signals_is_found() {
    check(LosesSignals).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a repeat of a signal that waits was told")]
async fn a_journal_that_doubles_signals_is_found() {
    check(DoublesSignals).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "what no commit took is told to the next owner")]
async fn a_journal_that_hides_waiting_signals_is_found() {
    check(HidesWaitingSignals).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "who waits for signals hears of the end of the claim")]
async fn a_journal_that_tells_the_end_to_nobody_is_found() {
    check(TellsTheEndToNobody).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "declares `durable`")]
async fn a_journal_that_is_not_durable_is_found() {
    let memory = Arc::new(MemoryJournal::new());
    conformance::durable_journal(async || MemoryJournal::clone(&memory)).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "refused what should be done: log `conformance/durable` does not exist")]
async fn a_journal_that_only_says_so_is_found() {
    conformance::durable_journal(async || Odd::new(IsNotDurable)).await;
}
