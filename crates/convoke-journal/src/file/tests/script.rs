//! A life of a log, step by step, and what must be true of it after each end.

use std::{sync::Arc, time::Duration};

use convoke_core::{
    Claim, Commit, CommitId, Journal, JournalError, JournalErrorKind, LogContents, LogId, OwnerId, ReadFrom,
    Sequence, Signal, SignalId, Snapshot,
};

use super::sim_disk::SimDisk;
use crate::{FileJournal, Retain, file::writer::Settings};

/// What happens to the log. Each commit has one record, but for the first, which has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Claim(&'static str),
    Strict,
    Relaxed,
    Flush,
    Signal(&'static str),
    Take(&'static str),
    Compact,
    Release,
}

use Step::{Claim as ClaimAs, Compact, Create, Flush, Relaxed, Release, Signal as Send, Strict, Take};

const SCRIPT: [Step; 28] = [
    Create,
    ClaimAs("a"),
    Strict,
    Relaxed,
    Relaxed,
    Strict,
    Send("s"),
    Take("s"),
    Compact,
    Strict,
    Relaxed,
    Flush,
    Relaxed,
    Release,
    ClaimAs("b"),
    Strict,
    Send("t"),
    Send("u"),
    Relaxed,
    Compact,
    Take("u"),
    Strict,
    Compact,
    Strict,
    Release,
    ClaimAs("c"),
    Relaxed,
    Release,
];

/// How far a life has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    step: usize,
    /// Records that the owner knows to be in the log, or has asked for.
    asked: usize,
    /// Records whose durability was answered.
    pub(super) durable: usize,
    /// The greatest token of an answered claim.
    token: u64,
    sent: Vec<&'static str>,
    /// Taken by a commit that was asked for, whose record has this place.
    taking: Vec<(&'static str, Sequence)>,
    taken: Vec<&'static str>,
}

pub(super) fn log() -> LogId {
    LogId::new("plan/7").unwrap()
}

pub(super) fn journal(disk: &SimDisk) -> FileJournal {
    let settings = Settings { retain: Retain::Snapshots(1), compact_at_least: 1 };
    FileJournal::new("/".into(), Arc::new(disk.clone()), settings)
}

fn record(number: usize) -> String {
    format!("record {number}, which says something")
}

fn signal_id(id: &str) -> SignalId {
    SignalId::new(id).unwrap()
}

impl Progress {
    pub(super) fn is_done(&self) -> bool {
        self.step == SCRIPT.len()
    }

    /// Goes on until the end, or the first error.
    pub(super) async fn play(
        &mut self,
        journal: &FileJournal,
        claim: &mut Option<Claim>,
    ) -> Result<(), JournalError> {
        while let Some(&step) = SCRIPT.get(self.step) {
            self.once(journal, claim, step).await?;
            self.step += 1;
        }
        Ok(())
    }

    /// The owner of the step at which this is.
    fn owner(&self) -> OwnerId {
        let mut claims = SCRIPT.iter().take(self.step + 1).filter_map(|step| match step {
            ClaimAs(owner) => Some(owner),
            _ => None,
        });
        OwnerId::new(*claims.next_back().unwrap_or(&"a")).unwrap()
    }

    pub(super) async fn claim(&mut self, journal: &FileJournal) -> Result<Claim, JournalError> {
        let claim = journal.claim(&log(), &self.owner(), Duration::ZERO).await?;
        assert!(claim.token.get() > self.token, "{} does not follow {}", claim.token, self.token);
        self.token = claim.token.get();
        Ok(claim)
    }

    fn commit(&self, claim: Claim) -> Commit {
        let before = SCRIPT.iter().take(self.step);
        let commits = before.filter(|step| matches!(step, Strict | Relaxed | Take(_))).count();
        let first = if commits == 0 { 0 } else { commits + 1 };
        let count = if commits == 0 { 2 } else { 1 };
        let id = CommitId::new(format!("step-{}", self.step)).unwrap();
        Commit::new(id, claim.token, Sequence::START.after(first))
            .with_records((first..first + count).map(record))
    }

    async fn once(
        &mut self,
        journal: &FileJournal,
        claim: &mut Option<Claim>,
        step: Step,
    ) -> Result<(), JournalError> {
        let log = &log();
        let lost = || JournalError::new(JournalErrorKind::Fenced, &super::script::log(), "is not claimed");
        let held = claim.ok_or_else(lost);
        match step {
            Create => match journal.create(log).await {
                // An earlier call had come through.
                Err(error) if error.kind() == JournalErrorKind::AlreadyExists => {}
                done => done?,
            },
            ClaimAs(_) => *claim = Some(self.claim(journal).await?),
            Strict | Relaxed | Take(_) => {
                let mut commit = self.commit(held?);
                if step == Relaxed {
                    commit = commit.relaxed();
                }
                if let Take(signal) = step {
                    commit = commit.taking(signal_id(signal));
                    self.taking.push((signal, commit.expected));
                }
                let next = usize::try_from(commit.next().get()).unwrap();
                self.asked = self.asked.max(next);
                let committed = journal.append(log, commit.clone()).await?;
                assert_eq!((committed.first, committed.next), (commit.expected, commit.next()));
                if step != Relaxed {
                    self.durable = next;
                }
                if let Take(signal) = step {
                    self.taken.push(signal);
                }
            }
            Flush => {
                journal.flush(log, held?.token).await?;
                self.durable = self.asked;
            }
            Compact => {
                let upto = Sequence::START.after(self.asked);
                journal.compact(log, held?.token, snapshot(upto)).await?;
                self.durable = self.asked;
            }
            Send(signal) => {
                journal.signal(log, Signal::new(signal_id(signal), signal)).await?;
                self.sent.push(signal);
            }
            Release => {
                let token = held?.token;
                *claim = None;
                journal.release(log, token).await?;
                self.durable = self.asked;
            }
        }
        Ok(())
    }

    /// Whether the log was answered to be there.
    fn is_created(&self) -> bool {
        self.step > 0
    }

    /// Checks what is there against what was answered.
    pub(super) async fn check(&self, journal: &FileJournal) {
        let contents = match journal.read(&log(), ReadFrom::Latest).await {
            Err(error) if error.kind() == JournalErrorKind::NotFound && !self.is_created() => return,
            contents => contents.unwrap(),
        };
        let count = assert_prefix(&contents);
        assert!((self.durable..=self.asked).contains(&count), "{count} records after {self:?}");
        // What is kept for forks is as whole.
        match journal.read(&log(), ReadFrom::Before(Sequence::START)).await {
            Ok(all) => assert_eq!((assert_prefix(&all), all.first), (count, Sequence::START)),
            Err(error) => {
                let JournalErrorKind::Compacted { oldest } = error.kind() else { panic!("{error}") };
                let kept = journal.read(&log(), ReadFrom::Before(oldest)).await.unwrap();
                assert_eq!((assert_prefix(&kept), kept.first), (count, oldest));
            }
        }
    }

    /// Checks the signals that an owner is told of.
    pub(super) async fn check_signals(&self, journal: &FileJournal, claim: Claim) {
        // A commit that did not come to be took nothing.
        let is_taken =
            |signal: &&str| self.taking.iter().any(|(taken, at)| taken == signal && *at < claim.next);
        let expected: Vec<_> = self.sent.iter().filter(|signal| !is_taken(signal)).collect();
        if expected.is_empty() {
            return;
        }
        let told =
            tokio::time::timeout(Duration::from_mins(1), journal.next_signals(&log(), claim.token)).await;
        let told = told.unwrap_or_else(|_| panic!("{expected:?} were lost")).unwrap();
        for signal in expected {
            assert!(told.iter().any(|told| told.id.as_str() == *signal), "`{signal}` was lost: {told:?}");
        }
        for signal in &self.taken {
            assert!(
                told.iter().all(|told| told.id.as_str() != *signal),
                "`{signal}` is told again: {told:?}"
            );
        }
    }

    /// Goes on after an end: what was asked for last is asked for again, under a new claim.
    pub(super) async fn resume(&mut self, journal: &FileJournal) {
        if self.is_created() {
            let next = usize::try_from(self.claim_and_see(journal).await.get()).unwrap();
            // What was relaxed and got lost is written again, as its owner would.
            self.rewind(next);
        }
        let mut claim = None;
        if self.needs_claim() {
            claim = Some(self.claim(journal).await.unwrap());
        }
        self.play(journal, &mut claim).await.unwrap();
        self.check(journal).await;
        assert_eq!(self.durable, self.asked);
    }

    async fn claim_and_see(&mut self, journal: &FileJournal) -> Sequence {
        let claim = self.claim(journal).await.unwrap();
        self.check_signals(journal, claim).await;
        journal.release(&log(), claim.token).await.unwrap();
        claim.next
    }

    /// To the first step whose commit is not in a log of so many records.
    fn rewind(&mut self, records: usize) {
        let mut count = 0;
        for (number, step) in SCRIPT.iter().enumerate().take(self.step) {
            if matches!(step, Strict | Relaxed | Take(_)) {
                count += if count == 0 { 2 } else { 1 };
                if count > records {
                    self.step = number;
                    self.asked = records;
                    return;
                }
            }
        }
    }

    fn needs_claim(&self) -> bool {
        let claims = SCRIPT.iter().take(self.step).rev().find(|step| matches!(step, ClaimAs(_) | Release));
        matches!(claims, Some(ClaimAs(_)))
    }
}

pub(super) fn snapshot(upto: Sequence) -> Snapshot {
    Snapshot::new(upto, [format!("{upto} records"), "and more".to_owned()])
}

/// Checks that this is the log up to some record, and gives how many records that is.
pub(super) fn assert_prefix(contents: &LogContents) -> usize {
    let first = usize::try_from(contents.first.get()).unwrap();
    match &contents.snapshot {
        Some(said) => assert_eq!(*said, snapshot(contents.first)),
        None => assert_eq!(first, 0),
    }
    for (number, said) in contents.records.iter().enumerate() {
        assert_eq!(said.to_text(), record(first + number));
    }
    let count = first + contents.records.len();
    assert_eq!(contents.next, Sequence::START.after(count));
    assert_ne!(count, 1, "the first commit has two records");
    count
}
