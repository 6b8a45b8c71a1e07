//! One log in memory: a plain value, the time given by the caller.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, JournalError, LogContents, LogId, OwnerId, ReadFrom, Record,
    Sequence, Signal, SignalId, Snapshot,
};
use tokio::{sync::Notify, time::Instant};

use crate::{
    COMPACT_AT_LEAST, Retain,
    growth::Growth,
    limits, refusal,
    tail::{Admitted, Tail},
};

/// A claim without an end lasts so long: a century, which no clock refuses to add.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

pub(super) struct MemoryLog {
    log: LogId,
    tail: Tail,
    owner: Option<Owner>,
    /// From the oldest kept to the live one; never empty.
    generations: VecDeque<Generation>,
    growth: Growth,
    waiting: Vec<Signal>,
    told: HashSet<SignalId>,
    changed: Arc<Notify>,
}

struct Owner {
    id: OwnerId,
    token: FencingToken,
    expires: Instant,
}

/// A snapshot and the records that follow it.
struct Generation {
    first: Sequence,
    snapshot: Option<Snapshot>,
    records: Vec<Record>,
}

impl MemoryLog {
    pub(super) fn new(log: LogId) -> Self {
        let start = Generation { first: Sequence::START, snapshot: None, records: Vec::new() };
        Self {
            log,
            tail: Tail::new(Sequence::START),
            owner: None,
            generations: VecDeque::from([start]),
            growth: Growth::new(COMPACT_AT_LEAST),
            waiting: Vec::new(),
            told: HashSet::new(),
            changed: Arc::default(),
        }
    }

    pub(super) fn is_owned_under(&self, token: FencingToken) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.token == token)
    }

    /// What wakes whoever waits for signals.
    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    pub(super) fn claim(
        &mut self,
        owner: &OwnerId,
        token: FencingToken,
        now: Instant,
        ttl: Duration,
    ) -> Result<Claim, JournalError> {
        if let Some(current) =
            self.owner.as_ref().filter(|current| now < current.expires && current.id != *owner)
        {
            return Err(refusal::claimed(&self.log, Some(&current.id)));
        }
        self.end();
        self.owner = Some(Owner { id: owner.clone(), token, expires: now });
        Ok(self.renew(token, now, ttl))
    }

    pub(super) fn renew(&mut self, token: FencingToken, now: Instant, ttl: Duration) -> Claim {
        let expires = now.checked_add(ttl).unwrap_or(now + LONGEST);
        if let Some(owner) = &mut self.owner {
            owner.expires = expires;
        }
        Claim::new(token, self.tail.next).expiring_at(expires)
    }

    /// Ends the claim; the next one is told of all signals anew.
    pub(super) fn end(&mut self) {
        self.owner = None;
        self.told.clear();
        self.changed.notify_waiters();
    }

    pub(super) fn append(&mut self, commit: &Commit) -> Result<Committed, JournalError> {
        let written = match self.tail.admit(&self.log, commit)? {
            Admitted::Repeat(written) => return Ok(written.committed()),
            Admitted::New(written) => written,
        };
        if let Some(live) = self.generations.back_mut() {
            live.records.extend_from_slice(&commit.records);
        }
        self.growth.append(limits::record_bytes(&commit.records));
        if !commit.taken.is_empty() {
            self.waiting.retain(|signal| !commit.taken.contains(&signal.id));
            commit.taken.iter().for_each(|id| _ = self.told.remove(id));
        }
        let committed = written.committed();
        Ok(if self.growth.is_compaction_due() { committed.with_compaction_due() } else { committed })
    }

    pub(super) fn compact(&mut self, snapshot: Snapshot, retain: Retain) -> Result<(), JournalError> {
        self.tail.check_end(&self.log, snapshot.upto)?;
        let (first, bytes) = (snapshot.upto, limits::record_bytes(&snapshot.records));
        if let Some(live) = self.generations.back_mut().filter(|live| live.first == first) {
            // A repeat, or nothing was appended since: there is one snapshot for each place.
            if live.snapshot.is_none() {
                live.snapshot = Some(snapshot);
                self.growth.compact(bytes);
            }
            return Ok(());
        }
        self.growth.compact(bytes);
        self.generations.push_back(Generation { first, snapshot: Some(snapshot), records: Vec::new() });
        if let Retain::Snapshots(before) = retain {
            while self.generations.len() > before.saturating_add(1) {
                self.generations.pop_front();
            }
        }
        Ok(())
    }

    pub(super) fn read(&self, from: ReadFrom) -> Result<LogContents, JournalError> {
        let oldest = self.generations.front().map_or(self.tail.next, |generation| generation.first);
        let (asked, with_snapshot) = match from {
            ReadFrom::Before(at) => (at, true),
            ReadFrom::Record(at) => (at, false),
            _ => (self.tail.next, true),
        };
        let Some(start) = self.generations.iter().rposition(|generation| generation.first <= asked) else {
            return Err(refusal::compacted(&self.log, asked, oldest));
        };
        let mut records = Vec::new();
        let mut base = None;
        for generation in self.generations.iter().skip(start) {
            base.get_or_insert(generation);
            records.extend_from_slice(&generation.records);
        }
        let first = base.map_or(self.tail.next, |generation| generation.first);
        if with_snapshot {
            let contents = LogContents::new(first, records);
            return Ok(match base.and_then(|generation| generation.snapshot.clone()) {
                Some(snapshot) => contents.with_snapshot(snapshot),
                None => contents,
            });
        }
        let skipped = usize::try_from(asked.get().saturating_sub(first.get())).unwrap_or(usize::MAX);
        records.drain(..skipped.min(records.len()));
        Ok(LogContents::new(asked.min(self.tail.next), records))
    }

    pub(super) fn signal(&mut self, signal: Signal) -> Result<(), JournalError> {
        if self.tail.taken.contains(&signal.id) || self.waiting.iter().any(|waiting| waiting.id == signal.id)
        {
            return Ok(());
        }
        limits::check_waiting(&self.log, self.waiting.len())?;
        self.waiting.push(signal);
        self.changed.notify_waiters();
        Ok(())
    }

    /// The signals that the claim has not been told of; told from now on.
    pub(super) fn tell(&mut self) -> Vec<Signal> {
        let told = &mut self.told;
        self.waiting.iter().filter(|signal| told.insert(signal.id.clone())).cloned().collect()
    }
}
