//! What stands in line to be written under one claim: a plain value, without lock or I/O.

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::Arc,
    time::Duration,
};

use convoke_core::{
    Commit, Committed, Durability, FencingToken, JournalError, JournalErrorKind, LogId, Sequence, SignalId,
    Snapshot,
};
use tokio::sync::oneshot;

use super::{cohort::Cohort, files::OpenFile, frame};
use crate::{
    growth::Growth,
    limits, refusal,
    tail::{Admitted, Tail, Written},
};

/// A frame takes no further commit once it has so many bytes.
const FRAME_BYTES: usize = 4 << 20;

/// A relaxed commit waits to be written where so many bytes are in line before it.
const RELAXED_BYTES: usize = 8 << 20;

pub(super) type Answer<T> = oneshot::Sender<Result<T, Failure>>;

/// Why something in line was not done: a write failed, this one or one before it.
#[derive(Clone, Debug)]
pub(super) struct Failure(pub(super) Arc<io::Error>);

impl Failure {
    pub(super) fn into_error(self, log: &LogId, token: FencingToken) -> JournalError {
        let problem = format!("was not written under token {token}; claim it again, then repeat the commit");
        JournalError::new(JournalErrorKind::Poisoned, log, problem).with_source(self.0)
    }
}

/// Something to be done, in order.
#[derive(Debug)]
pub(super) enum Job {
    Commit(CommitJob),
    Compact(CompactJob),
    /// What is before it is to be in the file.
    Write(Answer<()>),
    /// What is before it is to be durable.
    Sync(Answer<()>),
    /// Nothing comes after this.
    Close(oneshot::Sender<Closed>),
    /// As `Close`, and nobody wants the lock.
    Abandon(oneshot::Sender<()>),
    /// As `Close`, and the log is to be removed.
    Delete(Answer<()>),
}

/// The lock of a log, while it is held.
pub(super) struct Lock(pub(super) Box<dyn OpenFile>);

/// Closing the file is not enough: a process that is started at this moment has it open too, until it runs its program.
impl Drop for Lock {
    fn drop(&mut self) {
        // Where it fails, closing is what is left.
        _ = self.0.unlock();
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lock")
    }
}

/// The end of a claim.
#[derive(Debug)]
pub(super) struct Closed {
    /// Dropped with this, unless somebody claims the log again.
    pub(super) lock: Option<Lock>,
    /// Not all that was answered may be durable.
    pub(super) failure: Option<Failure>,
}

#[derive(Debug)]
pub(super) struct CommitJob {
    pub(super) first: Sequence,
    pub(super) bytes: Vec<u8>,
    pub(super) taken: Vec<SignalId>,
    pub(super) is_strict: bool,
    /// `None` where the answer was given already.
    pub(super) answer: Option<Answer<()>>,
}

#[derive(Debug)]
pub(super) struct CompactJob {
    pub(super) snapshot: Snapshot,
    /// The end of the log as it is at this place in line.
    pub(super) tail: Tail,
    pub(super) answer: Answer<()>,
}

/// What a caller waits for once its commit is in line.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) committed: Committed,
    /// `None` where there is nothing to wait for.
    pub(super) answer: Option<oneshot::Receiver<Result<(), Failure>>>,
}

/// The line of one claim.
#[derive(Debug)]
pub(super) struct Line {
    log: LogId,
    tail: Tail,
    growth: Growth,
    jobs: VecDeque<Job>,
    /// Of the commits in line.
    bytes: usize,
    commits: usize,
    strict_commits: usize,
    failure: Option<Failure>,
    is_closed: bool,
    /// Somebody is at work on what is in line, and looks again before it goes.
    pub(super) is_served: bool,
    pub(super) cohort: Cohort,
    /// Signals whose commits are not known to be durable.
    pub(super) unsure_taken: HashSet<SignalId>,
}

impl Line {
    pub(super) fn new(log: LogId, tail: Tail, growth: Growth, unsure_taken: Vec<SignalId>) -> Self {
        Self {
            log,
            tail,
            growth,
            jobs: VecDeque::new(),
            bytes: 0,
            commits: 0,
            strict_commits: 0,
            failure: None,
            is_closed: false,
            is_served: false,
            cohort: Cohort::default(),
            unsure_taken: unsure_taken.into_iter().collect(),
        }
    }

    pub(super) fn next(&self) -> Sequence {
        self.tail.next
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Nothing is in line, and nobody at work on what was.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty() && !self.is_served
    }

    pub(super) fn is_taken(&self, signal: &SignalId) -> bool {
        self.tail.taken.contains(signal)
    }

    fn check_open(&self, token: FencingToken) -> Result<(), JournalError> {
        match &self.failure {
            _ if self.is_closed => Err(refusal::fenced(&self.log, token)),
            Some(failure) => Err(failure.clone().into_error(&self.log, token)),
            None => Ok(()),
        }
    }

    pub(super) fn append(&mut self, commit: Commit, bytes: Vec<u8>) -> Result<Placed, JournalError> {
        self.check_open(commit.token)?;
        match self.tail.admit(&self.log, &commit)? {
            Admitted::New(written) => Ok(self.place(commit, bytes, written)),
            Admitted::Repeat(written) => {
                // The first may still be under way, and may have been a relaxed one.
                let committed = self.committed(written);
                let answer = match commit.durability {
                    Durability::Strict => self.sync(),
                    Durability::Relaxed => self.write(),
                };
                Ok(Placed { committed, answer: Some(answer) })
            }
        }
    }

    fn place(&mut self, commit: Commit, bytes: Vec<u8>, written: Written) -> Placed {
        let is_strict = commit.durability == Durability::Strict;
        let (sender, receiver) = oneshot::channel();
        let (sender, receiver) = if is_strict || self.bytes >= RELAXED_BYTES {
            (Some(sender), Some(receiver))
        } else {
            (None, None)
        };
        self.bytes += bytes.len();
        self.commits += 1;
        self.strict_commits += usize::from(is_strict);
        self.growth.append(bytes.len() + frame::HEADER_BYTES);
        self.unsure_taken.extend(commit.taken.iter().cloned());
        let (first, taken) = (written.first, commit.taken);
        self.jobs.push_back(Job::Commit(CommitJob { first, bytes, taken, is_strict, answer: sender }));
        Placed { committed: self.committed(written), answer: receiver }
    }

    fn committed(&self, written: Written) -> Committed {
        let committed = written.committed();
        if self.growth.is_compaction_due() { committed.with_compaction_due() } else { committed }
    }

    pub(super) fn compact(
        &mut self,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<oneshot::Receiver<Result<(), Failure>>, JournalError> {
        self.check_open(token)?;
        self.tail.check_end(&self.log, snapshot.upto)?;
        self.growth.compact(limits::record_bytes(&snapshot.records));
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Compact(CompactJob { snapshot, tail: self.tail.clone(), answer }));
        Ok(receiver)
    }

    /// Waits until all before it is durable.
    pub(super) fn flush(
        &mut self,
        token: FencingToken,
    ) -> Result<oneshot::Receiver<Result<(), Failure>>, JournalError> {
        self.check_open(token)?;
        Ok(self.sync())
    }

    fn sync(&mut self) -> oneshot::Receiver<Result<(), Failure>> {
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Sync(answer));
        receiver
    }

    /// Waits until all before it is in the file.
    pub(super) fn write(&mut self) -> oneshot::Receiver<Result<(), Failure>> {
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Write(answer));
        receiver
    }

    /// Nothing may be put in line any more; `None` where that is so already.
    pub(super) fn close(&mut self) -> Option<oneshot::Receiver<Closed>> {
        if self.is_closed {
            return None;
        }
        self.is_closed = true;
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Close(answer));
        Some(receiver)
    }

    /// As [`close`](Self::close), and the lock is given up.
    pub(super) fn abandon(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.is_closed {
            return None;
        }
        self.is_closed = true;
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Abandon(answer));
        Some(receiver)
    }

    /// As [`close`](Self::close), and the log is removed.
    pub(super) fn delete(&mut self) -> Option<oneshot::Receiver<Result<(), Failure>>> {
        if self.is_closed {
            return None;
        }
        self.is_closed = true;
        let (answer, receiver) = oneshot::channel();
        self.jobs.push_back(Job::Delete(answer));
        Some(receiver)
    }

    /// How long what is in line waits for more: only strict commits do.
    pub(super) fn window(&self) -> Option<Duration> {
        let is_strict = self.strict_commits > 0 && self.strict_commits == self.jobs.len();
        if is_strict { self.cohort.window(self.strict_commits) } else { None }
    }

    /// The commits that the next frame takes, where commits are at the front of the line.
    pub(super) fn take_frame(&mut self) -> Vec<CommitJob> {
        let mut frame = Vec::new();
        let mut bytes = 0;
        while let Some(Job::Commit(commit)) = self.jobs.front()
            && (frame.is_empty() || bytes + commit.bytes.len() <= FRAME_BYTES)
            && let Some(Job::Commit(commit)) = self.jobs.pop_front()
        {
            bytes += commit.bytes.len();
            self.strict_commits = self.strict_commits.saturating_sub(usize::from(commit.is_strict));
            frame.push(commit);
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        self.commits = self.commits.saturating_sub(frame.len());
        frame
    }

    /// What is at the front of the line, where that is no commit.
    pub(super) fn take_other(&mut self) -> Option<Job> {
        self.jobs.pop_front_if(|job| !matches!(job, Job::Commit(_)))
    }

    /// How many commits are in line.
    pub(super) fn waiting(&self) -> usize {
        self.commits
    }

    /// From now on nothing is written under this claim.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.failure.get_or_insert_with(|| failure.clone());
    }

    /// Nobody is left to serve the line: who waits in it hears so by the end of its channel.
    pub(super) fn give_up(&mut self, failure: &Failure) {
        self.fail(failure);
        self.is_served = false;
        self.jobs.clear();
        (self.bytes, self.commits, self.strict_commits) = (0, 0, 0);
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }
}
