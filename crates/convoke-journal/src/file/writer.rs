//! Who writes: one thing after the other, on a thread where that may block.

use std::{io, sync::Arc, time::Instant};

use convoke_core::{FencingToken, Sequence, SignalId};
use parking_lot::MutexGuard;
use uuid::Uuid;

use super::{
    files::{self, OpenFile},
    folder::{segment_name, snapshot_name},
    frame::Frame,
    held::Held,
    line::{Answer, Closed, CommitJob, CompactJob, Failure, Job, Line, Lock},
    lock::{self, LogState, Slot},
    names, removal,
    segment::SegmentHeader,
    snapshot,
    stored::Live,
};
use crate::Retain;

/// How a journal is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) retain: Retain,
    pub(super) compact_at_least: u64,
}

/// The files of one claim. Only who serves the line of the claim has this.
pub(super) struct Writer {
    live: Live,
    token: FencingToken,
    settings: Settings,
    lock: Option<Lock>,
    /// The live segment, once it was made ready.
    file: Option<Box<dyn OpenFile>>,
    /// Something was written since the last sync.
    is_unsynced: bool,
    /// Signals whose files can go once what was written is durable.
    taken: Vec<SignalId>,
}

impl Writer {
    pub(super) fn new(
        live: Live,
        token: FencingToken,
        lock: Lock,
        settings: Settings,
        unsure_taken: Vec<SignalId>,
    ) -> Self {
        Self { live, token, settings, lock: Some(lock), file: None, is_unsynced: false, taken: unsure_taken }
    }

    /// Lets others claim the log.
    pub(super) fn unlock(&mut self) {
        self.lock = None;
    }

    /// Does what is next in line; `false` where nothing is.
    pub(super) fn step(&mut self, held: &Held) -> bool {
        let mut line = held.line.lock();
        gather(held, &mut line);
        let failure = line.failure();
        let job = line.take_other();
        let commits = if job.is_some() { vec![] } else { line.take_frame() };
        line.is_served = job.is_some() || !commits.is_empty();
        let is_served = line.is_served;
        drop(line);
        match job {
            Some(job) => self.other(held, job, failure),
            None if is_served => self.commits(held, commits, failure),
            None => {}
        }
        is_served
    }

    fn commits(&mut self, held: &Held, commits: Vec<CommitJob>, failure: Option<Failure>) {
        let done = attempt(held, failure, || self.write_frame(held, &commits));
        for answer in commits.into_iter().filter_map(|commit| commit.answer) {
            // Who does not wait any more repeats the commit to hear of it.
            _ = answer.send(done.clone());
        }
    }

    fn other(&mut self, held: &Held, job: Job, failure: Option<Failure>) {
        match job {
            // It has its place by `step`.
            Job::Commit(_) => {}
            Job::Write(answer) => reply(answer, failure.map_or(Ok(()), Err)),
            Job::Sync(answer) => {
                let done = attempt(held, failure, || {
                    self.ready(held)?;
                    self.make_durable(held)
                });
                reply(answer, done);
            }
            Job::Compact(CompactJob { snapshot, tail, answer }) => {
                let done = attempt(held, failure, || {
                    let bytes = snapshot::encode(&held.folder.log, salt(), self.token, &snapshot, &tail);
                    self.compact(held, snapshot.upto, &bytes)
                });
                reply(answer, done);
            }
            Job::Close(answer) => {
                let failure = attempt(held, failure, || self.make_all_durable(held)).err();
                self.file = None;
                _ = answer.send(Closed { lock: self.lock.take(), failure });
            }
            Job::Abandon(answer) => {
                // Nobody is there to hear of a failure; the next owner reads what is there.
                _ = attempt(held, failure, || self.make_all_durable(held));
                self.file = None;
                self.unlock();
                _ = answer.send(());
            }
            Job::Delete(answer) => {
                // A failed write of the log does not keep it from being removed.
                let done = attempt(held, None, || self.delete(held));
                self.unlock();
                reply(answer, done);
            }
        }
    }

    fn make_all_durable(&mut self, held: &Held) -> io::Result<()> {
        // What this owner has read may be what an earlier one did not live to see durable.
        if self.live.durable_end < self.live.end {
            self.ready(held)?;
        }
        self.make_durable(held)
    }

    fn write_frame(&mut self, held: &Held, commits: &[CommitJob]) -> io::Result<()> {
        let Some(first) = commits.first() else { return Ok(()) };
        let is_strict = commits.iter().any(|commit| commit.is_strict);
        let mut body = Vec::with_capacity(commits.iter().map(|commit| commit.bytes.len()).sum());
        for commit in commits {
            body.extend_from_slice(&commit.bytes);
        }
        let frame = Frame::new(first.first, self.token, is_strict, &body).encode(self.live.salt);

        let end = self.live.end;
        self.ready(held)?.write_at(end, &frame)?;
        self.live.end += frame.len() as u64;
        self.is_unsynced = true;
        self.taken.extend(commits.iter().flat_map(|commit| commit.taken.iter().cloned()));
        if is_strict {
            let began = held.files.now();
            self.make_durable(held)?;
            let took = held.files.now().saturating_duration_since(began);
            let mut line = held.line.lock();
            let waiting = line.waiting();
            line.cohort.ended(commits.len(), waiting, took);
        }
        Ok(())
    }

    fn make_durable(&mut self, held: &Held) -> io::Result<()> {
        if self.is_unsynced
            && let Some(file) = &self.file
        {
            file.sync()?;
            self.is_unsynced = false;
            self.remove_taken(held);
        }
        Ok(())
    }

    /// The live segment, ready to be appended to: without a torn end, and with nothing in it that is only believed to be
    /// durable.
    fn ready(&mut self, held: &Held) -> io::Result<&dyn OpenFile> {
        if self.file.is_none() {
            self.file = Some(self.mend(held)?);
            self.remove_taken(held);
        }
        self.file.as_deref().ok_or_else(|| io::Error::other("the segment is not open"))
    }

    fn mend(&self, held: &Held) -> io::Result<Box<dyn OpenFile>> {
        let (files, folder, live) = (&*held.files, &held.folder, &self.live);
        let file = files.open(&folder.segment(live.first))?;
        let bytes = file.read()?;
        let [durable_end, end] =
            [live.durable_end, live.end].map(|end| usize::try_from(end).unwrap_or(usize::MAX));
        if let Some(torn) = bytes.get(end..).filter(|torn| !torn.is_empty()) {
            files::write_whole(files, &folder.path, &torn_name(held, live.next)?, torn)?;
            file.cut(live.end)?;
            file.sync()?;
        }
        // A sync that failed under an earlier owner may have left what was read in memory alone, and no later sync would
        // write it: it is written again.
        if let Some(unsure) = bytes.get(durable_end..end).filter(|unsure| !unsure.is_empty()) {
            file.write_at(live.durable_end, unsure)?;
            file.sync()?;
        }
        // Whoever made these names may not have lived to make them durable.
        files.sync_folder(&folder.path)?;
        if let Some(root) = folder.path.parent() {
            files.sync_folder(root)?;
        }
        Ok(file)
    }

    fn compact(&mut self, held: &Held, upto: Sequence, snapshot: &[u8]) -> io::Result<()> {
        let (files, folder) = (&*held.files, &held.folder);
        self.ready(held)?;
        self.make_durable(held)?;
        if self.live.first != upto {
            let header = SegmentHeader { salt: salt(), first: upto, log: folder.log.clone() };
            let bytes = header.encode();
            files::write_whole(files, &folder.path, &segment_name(upto), &bytes)?;
            self.file = Some(files.open(&folder.segment(upto))?);
            let end = bytes.len() as u64;
            self.live = Live { first: upto, salt: header.salt, end, durable_end: end, next: upto };
        }
        // The segment is there before the snapshot: a log that has the one without the other reads as before.
        let is_there = files.names(&folder.path)?.contains(&snapshot_name(upto));
        if !is_there {
            files::write_whole(files, &folder.path, &snapshot_name(upto), snapshot)?;
        }
        // What is too old harms nobody; the next compaction tries again.
        _ = removal::forget(files, folder, self.settings.retain);
        Ok(())
    }

    fn delete(&mut self, held: &Held) -> io::Result<()> {
        self.file = None;
        let Some(lock) = &self.lock else { return Err(io::Error::other("the lock is not held")) };
        lock::write(&*lock.0, &Slot { token: self.token.next(), state: LogState::Deleted })?;
        // From here on the log is deleted. What cannot be removed now goes when one of this id is made again.
        _ = removal::remove(&*held.files, &held.folder.path);
        Ok(())
    }

    fn remove_taken(&mut self, held: &Held) {
        if self.taken.is_empty() {
            return;
        }
        let signals = held.folder.signals();
        for id in self.taken.drain(..) {
            let name = names::escape(id.as_str());
            // It is taken whether its file goes or not: who looks for signals passes it over.
            _ = held.files.remove(&signals.join(&name));
            held.told.lock().remove(&name);
            held.line.lock().unsure_taken.remove(&id);
        }
    }
}

/// Waits, not long, for those who are about to commit too.
fn gather(held: &Held, line: &mut MutexGuard<'_, Line>) {
    let mut until = None;
    while let Some(window) = line.window() {
        let until = *until.get_or_insert_with(|| Instant::now() + window);
        if held.arrived.wait_until(line, until).timed_out() {
            return;
        }
    }
}

/// Does it unless something failed before; what fails now makes all fail that comes after.
fn attempt(
    held: &Held,
    failure: Option<Failure>,
    act: impl FnOnce() -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(failure) = failure {
        return Err(failure);
    }
    act().map_err(|error| {
        let failure = Failure(Arc::new(error));
        held.line.lock().fail(&failure);
        failure
    })
}

fn reply(answer: Answer<()>, done: Result<(), Failure>) {
    // Who does not wait any more finds out by asking again.
    _ = answer.send(done);
}

pub(super) fn salt() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    // Version and variant take bits of both halves, at different places.
    high ^ low
}

/// A name for what is set aside at `place`, which no earlier one has.
fn torn_name(held: &Held, place: Sequence) -> io::Result<String> {
    let names = held.files.names(&held.folder.path)?;
    let plain = format!("torn-{:020}", place.get());
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !names.contains(name));
    Ok(free.unwrap_or(plain))
}
