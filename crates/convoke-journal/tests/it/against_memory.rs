//! The journal in files does what the one in memory does, whatever is asked of them.

use std::{fs, path::Path, time::Duration};

use convoke_core::{
    Claim, Commit, CommitId, FencingToken, Journal, JournalError, JournalErrorKind, LogId, OwnerId, ReadFrom,
    Sequence, Signal, SignalId, Snapshot,
};
use convoke_journal::{FileJournal, MemoryJournal, Retain};
use proptest::prelude::*;
use tokio::time::timeout;

const RETAIN: Retain = Retain::Snapshots(2);

#[derive(Clone, Debug)]
enum Op {
    Create,
    Delete {
        stale: bool,
    },
    Claim(u8),
    Release,
    Abandon,
    Append {
        records: Vec<Vec<u8>>,
        relaxed: bool,
        takes: Option<u8>,
        stale: bool,
    },
    Misplaced(u64),
    /// The commit that is so many back, once more.
    Repeat {
        back: usize,
        relaxed: bool,
    },
    /// Its id for something else.
    Reuse {
        back: usize,
    },
    Compact {
        misplaced: bool,
    },
    Flush,
    Read(u8, u64),
    Signal(u8),
    Hear,
    /// The file journal is opened again, behind what is left of a frame.
    Reopen(Vec<u8>),
}

fn op() -> impl Strategy<Value = Op> {
    let records = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..4);
    prop_oneof![
        1 => Just(Op::Create),
        1 => prop::bool::weighted(0.6).prop_map(|stale| Op::Delete { stale }),
        3 => (0..2_u8).prop_map(Op::Claim),
        1 => Just(Op::Release),
        1 => Just(Op::Abandon),
        12 => (records, any::<bool>(), prop::option::weighted(0.2, 0..4_u8), prop::bool::weighted(0.1))
            .prop_map(|(records, relaxed, takes, stale)| Op::Append { records, relaxed, takes, stale }),
        1 => (1..9_u64).prop_map(Op::Misplaced),
        2 => (0..6_usize, any::<bool>()).prop_map(|(back, relaxed)| Op::Repeat { back, relaxed }),
        1 => (0..6_usize).prop_map(|back| Op::Reuse { back }),
        2 => prop::bool::weighted(0.2).prop_map(|misplaced| Op::Compact { misplaced }),
        1 => Just(Op::Flush),
        4 => (0..3_u8, 0..30_u64).prop_map(|(from, at)| Op::Read(from, at)),
        2 => (0..4_u8).prop_map(Op::Signal),
        2 => Just(Op::Hear),
        2 => prop::collection::vec(any::<u8>(), 0..60).prop_map(Op::Reopen),
    ]
}

/// The two journals, and what their owner knows.
struct Both {
    file: FileJournal,
    memory: MemoryJournal,
    /// The claim of each, current or past.
    file_claim: Option<Claim>,
    memory_claim: Option<Claim>,
    next: Sequence,
    commits: Vec<Commit>,
    number: usize,
}

fn log() -> LogId {
    LogId::new("Log/1").unwrap()
}

fn outcome<T>(answer: Result<T, JournalError>) -> Result<T, JournalErrorKind> {
    answer.map_err(|error| error.kind())
}

async fn open(folder: &Path) -> FileJournal {
    FileJournal::builder(folder).retain(RETAIN).open().await.unwrap()
}

impl Both {
    async fn apply(&mut self, folder: &Path, op: Op) {
        let log = &log();
        let (file, memory) = (self.file.clone(), self.memory.clone());
        match op {
            Op::Create => {
                let done = outcome(file.create(log).await);
                assert_eq!(done, outcome(memory.create(log).await));
                if done.is_ok() {
                    (self.next, self.commits) = (Sequence::START, vec![]);
                }
            }
            Op::Delete { stale } => {
                let (f, m) = self.tokens(stale);
                assert_eq!(outcome(file.delete(log, f).await), outcome(memory.delete(log, m).await));
            }
            Op::Claim(owner) => {
                let owner = OwnerId::new(format!("owner-{owner}")).unwrap();
                let (f, m) = (
                    file.claim(log, &owner, Duration::MAX).await,
                    memory.claim(log, &owner, Duration::MAX).await,
                );
                let (f, m) = (outcome(f), outcome(m));
                assert_eq!(f.map(|claim| claim.next), m.map(|claim| claim.next));
                if let (Ok(f), Ok(m)) = (f, m) {
                    (self.file_claim, self.memory_claim, self.next) = (Some(f), Some(m), f.next);
                }
            }
            Op::Release => {
                let (f, m) = self.tokens(false);
                assert_eq!(outcome(file.release(log, f).await), outcome(memory.release(log, m).await));
            }
            Op::Abandon => {
                let (f, m) = self.tokens(false);
                // So that nobody is at work any more who would hold the log a moment longer.
                assert_eq!(outcome(file.flush(log, f).await), outcome(memory.flush(log, m).await));
                file.abandon(log, f);
                memory.abandon(log, m);
                self.await_unlocked(log).await;
            }
            Op::Append { records, relaxed, takes, stale } => {
                let mut commit = self.commit(stale).with_records(records);
                if let Some(signal) = takes {
                    commit = commit.taking(signal_id(signal));
                }
                let commit = if relaxed { commit.relaxed() } else { commit };
                if self.append(commit.clone()).await {
                    self.next = commit.next();
                    self.commits.push(commit);
                }
            }
            Op::Misplaced(by) => {
                let mut commit = self.commit(false).with_record("misplaced");
                commit.expected = Sequence::new(self.next.get() + by);
                assert!(!self.append(commit).await);
            }
            Op::Repeat { back, relaxed } => {
                let Some(mut commit) = self.commits.iter().rev().nth(back).cloned() else { return };
                commit.token = self.file_claim.map_or(commit.token, |claim| claim.token);
                self.append(if relaxed { commit.relaxed() } else { commit }).await;
            }
            Op::Reuse { back } => {
                let Some(mut commit) = self.commits.iter().rev().nth(back).cloned() else { return };
                commit = commit.with_record("other");
                commit.expected = self.next;
                assert!(!self.append(commit).await);
            }
            Op::Compact { misplaced } => {
                let (f, m) = self.tokens(false);
                let upto = Sequence::new(self.next.get() + u64::from(misplaced));
                let snapshot = Snapshot::new(upto, [format!("up to {upto}")]);
                let done = outcome(file.compact(log, f, snapshot.clone()).await);
                assert_eq!(done, outcome(memory.compact(log, m, snapshot).await));
            }
            Op::Flush => {
                let (f, m) = self.tokens(false);
                assert_eq!(outcome(file.flush(log, f).await), outcome(memory.flush(log, m).await));
            }
            Op::Read(from, at) => {
                let from = match from {
                    0 => ReadFrom::Latest,
                    1 => ReadFrom::Before(Sequence::new(at)),
                    _ => ReadFrom::Record(Sequence::new(at)),
                };
                assert_eq!(
                    outcome(file.read(log, from).await),
                    outcome(memory.read(log, from).await),
                    "{from:?}"
                );
            }
            Op::Signal(id) => self.signal(id).await,
            Op::Hear => self.hear().await,
            Op::Reopen(rest) => self.reopen(folder, &rest).await,
        }
    }

    async fn signal(&self, id: u8) {
        let signal = Signal::new(signal_id(id), vec![id]);
        let done = outcome(self.file.signal(&log(), signal.clone()).await);
        assert_eq!(done, outcome(self.memory.signal(&log(), signal).await));
    }

    async fn hear(&self) {
        let ((f, m), log) = (self.tokens(false), log());
        let patience = Duration::from_secs(3);
        let heard = timeout(patience, self.file.next_signals(&log, f)).await.ok().map(outcome).map(sorted);
        let twin = timeout(patience, self.memory.next_signals(&log, m)).await.ok().map(outcome).map(sorted);
        assert_eq!(heard, twin);
    }

    /// The tokens of the last claim, or such as nobody has.
    fn tokens(&self, stale: bool) -> (FencingToken, FencingToken) {
        let of = |claim: Option<Claim>| {
            let token = claim.map_or(0, |claim| claim.token.get());
            FencingToken::new(if stale { token.wrapping_sub(1) } else { token })
        };
        (of(self.file_claim), of(self.memory_claim))
    }

    fn commit(&mut self, stale: bool) -> Commit {
        self.number += 1;
        let id = CommitId::new(format!("commit-{}", self.number)).unwrap();
        Commit::new(id, self.tokens(stale).0, self.next)
    }

    /// Whether it was done. The token is that of the file journal.
    async fn append(&self, commit: Commit) -> bool {
        let mut twin = commit.clone();
        let (f, m) = (self.tokens(false), self.tokens(true));
        twin.token = if commit.token == f.0 { f.1 } else { m.1 };
        let done =
            outcome(self.file.append(&log(), commit.clone()).await).map(|done| (done.first, done.next));
        let twin = outcome(self.memory.append(&log(), twin).await).map(|done| (done.first, done.next));
        assert_eq!(done, twin, "{commit:?}");
        done.is_ok()
    }

    /// Waits until the service of an abandoned claim has let go of the lock.
    async fn await_unlocked(&self, log: &LogId) {
        let owner = OwnerId::new("nobody").unwrap();
        loop {
            match self.file.claim(log, &owner, Duration::MAX).await {
                Err(error) if error.kind() == JournalErrorKind::Claimed => tokio::task::yield_now().await,
                Ok(claim) => return self.file.release(log, claim.token).await.unwrap(),
                Err(error) => {
                    assert_eq!(error.kind(), JournalErrorKind::NotFound);
                    return;
                }
            }
        }
    }

    async fn reopen(&mut self, folder: &Path, rest: &[u8]) {
        let (f, m) = self.tokens(false);
        assert_eq!(
            outcome(self.file.release(&log(), f).await),
            outcome(self.memory.release(&log(), m).await)
        );
        self.file = open(folder).await;
        let log = folder.join("%4cog%2f1");
        let Ok(names) = fs::read_dir(&log) else { return };
        let segments = names.map(|name| name.unwrap().file_name().into_string().unwrap());
        let Some(newest) = segments.filter(|name| name.starts_with("segment-")).max() else { return };
        let path = log.join(newest);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(rest);
        fs::write(&path, bytes).unwrap();
    }
}

fn signal_id(id: u8) -> SignalId {
    SignalId::new(format!("signal/{id}")).unwrap()
}

fn sorted(heard: Result<Vec<Signal>, JournalErrorKind>) -> Result<Vec<Signal>, JournalErrorKind> {
    heard.map(|mut signals| {
        signals.sort_by(|one, other| one.id.cmp(&other.id));
        signals
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_do_what_memory_does(ops in prop::collection::vec(op(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            let mut both = Both {
                file: open(folder.path()).await,
                memory: MemoryJournal::retaining(RETAIN),
                file_claim: None,
                memory_claim: None,
                next: Sequence::START,
                commits: vec![],
                number: 0,
            };
            both.apply(folder.path(), Op::Create).await;
            both.apply(folder.path(), Op::Claim(0)).await;
            for op in ops {
                both.apply(folder.path(), op).await;
            }
            both.apply(folder.path(), Op::Read(0, 0)).await;
        });
    }
}
