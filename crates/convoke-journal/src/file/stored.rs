//! What is stored of a log, read without changing anything.

use std::io;

use convoke_core::{
    FencingToken, JournalError, JournalErrorKind, LogContents, ReadFrom, Record, Sequence, SignalId, Snapshot,
};

use super::{
    files::Files,
    folder::{Folder, Inventory},
    segment::{Damage, Segment},
    snapshot::{self, StoredSnapshot},
};
use crate::{growth::Growth, refusal, tail::Tail};

/// How often reading begins anew when an owner compacts away what is being read.
const ATTEMPTS: usize = 5;

/// The state in which an owner finds a log.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) tail: Tail,
    /// The greatest token that was ever written with a record.
    pub(super) token: FencingToken,
    pub(super) live: Live,
    pub(super) growth: Growth,
    /// The signals taken by commits that are not known to be durable.
    pub(super) unsure_taken: Vec<SignalId>,
}

/// The segment that is appended to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) first: Sequence,
    pub(super) salt: u64,
    /// Where the last whole frame ends.
    pub(super) end: u64,
    /// From where on nothing is known to be durable.
    pub(super) durable_end: u64,
    /// The place behind its last record, as the owner found it.
    pub(super) next: Sequence,
}

impl Folder {
    /// What the log's owner has to know in order to go on.
    pub(super) fn find(&self, files: &dyn Files, compact_at_least: u64) -> Result<Found, JournalError> {
        let inventory = self.inventory(files)?;
        let mut growth = Growth::new(compact_at_least);
        let (mut tail, mut token, start) = match inventory.snapshots.last() {
            Some(&upto) => {
                let stored = self.read_snapshot(files, upto)?;
                let bytes = crate::limits::record_bytes(&stored.snapshot.records);
                growth.compact(bytes);
                (stored.tail, stored.token, upto)
            }
            None => (Tail::new(Sequence::START), FencingToken::new(0), Sequence::START),
        };
        let segments = self.read_segments(files, &inventory, start)?;
        let Some((&(first, ref last), _)) = segments.split_last() else {
            return Err(self.incomplete(start));
        };
        let live = Live {
            first,
            salt: last.salt,
            end: last.end as u64,
            durable_end: last.durable.end as u64,
            next: last.next,
        };
        let unsure = last.commits.iter().skip(last.durable.commits);
        let unsure_taken = unsure.flat_map(|commit| commit.taken.iter().cloned()).collect();
        for (_, segment) in segments {
            token = token.max(segment.token);
            growth.append(segment.end);
            for commit in segment.commits {
                tail.extend(commit.id, &commit.records, &commit.taken);
            }
        }
        Ok(Found { tail, token, live, growth, unsure_taken })
    }

    /// What is in the log from where `from` says.
    pub(super) fn contents(&self, files: &dyn Files, from: ReadFrom) -> Result<LogContents, JournalError> {
        let mut attempt = 1;
        loop {
            let inventory = self.inventory(files)?;
            match self.contents_of(files, &inventory, from) {
                // The owner may have compacted it away since the names were read.
                Err(error) if self.has_changed(files, &inventory) => {
                    if attempt == ATTEMPTS {
                        let problem = "changes faster than it can be read; try again";
                        return Err(
                            JournalError::new(JournalErrorKind::Io, &self.log, problem).with_source(error)
                        );
                    }
                    attempt += 1;
                }
                // The owner may have cut a torn end off, and appended, in the middle of a read. Damage stays.
                Err(error) if attempt == 1 && error.kind() == JournalErrorKind::Damaged => attempt += 1,
                answer => return answer,
            }
        }
    }

    fn has_changed(&self, files: &dyn Files, before: &Inventory) -> bool {
        self.inventory(files)
            .is_ok_and(|now| now.segments != before.segments || now.snapshots != before.snapshots)
    }

    fn contents_of(
        &self,
        files: &dyn Files,
        inventory: &Inventory,
        from: ReadFrom,
    ) -> Result<LogContents, JournalError> {
        let oldest = inventory.oldest();
        match from {
            ReadFrom::Before(at) | ReadFrom::Record(at) if at < oldest => {
                Err(refusal::compacted(&self.log, at, oldest))
            }
            ReadFrom::Before(at) => {
                let upto = inventory.snapshots.iter().rev().find(|upto| **upto <= at);
                self.with_snapshot(files, inventory, upto.copied())
            }
            ReadFrom::Record(at) => {
                let start = inventory.segments.iter().rev().find(|first| **first <= at).copied();
                let start = start.unwrap_or(oldest);
                let mut records = self.records(files, inventory, start)?;
                let end = start.after(records.len());
                let skipped = usize::try_from(at.get().saturating_sub(start.get())).unwrap_or(usize::MAX);
                records.drain(..skipped.min(records.len()));
                Ok(LogContents::new(at.min(end), records))
            }
            _ => self.with_snapshot(files, inventory, inventory.snapshots.last().copied()),
        }
    }

    fn with_snapshot(
        &self,
        files: &dyn Files,
        inventory: &Inventory,
        upto: Option<Sequence>,
    ) -> Result<LogContents, JournalError> {
        let Some(upto) = upto else {
            return Ok(LogContents::new(Sequence::START, self.records(files, inventory, Sequence::START)?));
        };
        let snapshot: Snapshot = self.read_snapshot(files, upto)?.snapshot;
        Ok(LogContents::new(upto, self.records(files, inventory, upto)?).with_snapshot(snapshot))
    }

    fn records(
        &self,
        files: &dyn Files,
        inventory: &Inventory,
        start: Sequence,
    ) -> Result<Vec<Record>, JournalError> {
        let segments = self.read_segments(files, inventory, start)?;
        let commits = segments.into_iter().flat_map(|(_, segment)| segment.commits);
        Ok(commits.flat_map(|commit| commit.records).collect())
    }

    fn read_snapshot(&self, files: &dyn Files, upto: Sequence) -> Result<StoredSnapshot, JournalError> {
        let path = self.snapshot(upto);
        let bytes = self.part(files.read(&path), upto)?;
        snapshot::decode(&bytes, &self.log, upto).map_err(|damage| self.damaged(&path, &damage))
    }

    /// The segments from the one that begins at `start` on, which follow each other without a gap.
    fn read_segments(
        &self,
        files: &dyn Files,
        inventory: &Inventory,
        start: Sequence,
    ) -> Result<Vec<(Sequence, Segment)>, JournalError> {
        let mut segments: Vec<(Sequence, Segment)> = Vec::new();
        let mut next = start;
        for &first in inventory.segments.iter().filter(|first| **first >= start) {
            if let Some((before, segment)) = segments.last()
                && segment.is_torn
            {
                let damage = Damage::new(segment.end, "has an invalid frame, and another segment follows it");
                return Err(self.damaged(&self.segment(*before), &damage));
            }
            if first != next {
                return Err(self.incomplete(next));
            }
            let path = self.segment(first);
            let bytes = self.part(files.read(&path), first)?;
            let segment =
                Segment::read(&bytes, &self.log, first).map_err(|damage| self.damaged(&path, &damage))?;
            next = segment.next;
            segments.push((first, segment));
        }
        if segments.is_empty() {
            return Err(self.incomplete(start));
        }
        Ok(segments)
    }

    /// A part of the log that its inventory names has to be there.
    fn part(&self, read: io::Result<Vec<u8>>, place: Sequence) -> Result<Vec<u8>, JournalError> {
        match read {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.incomplete(place)),
            Err(error) => Err(self.failed("cannot be read", &self.path, error)),
        }
    }

    fn incomplete(&self, place: Sequence) -> JournalError {
        self.damaged(&self.segment(place), &Damage::new(0, "is missing"))
    }
}
