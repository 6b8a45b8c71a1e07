//! A plan as a log: its head, and a record for each transition.
//!
//! The head is a record that says which run this is, and behind it the plan's JSON in pieces, since a plan of a million
//! steps is larger than a commit may be. After it, the entry with the number n is the nth record.

use convoke_core::{JournalError, LogContents, LogId, PlanId, Record, RunId, Sequence};
use serde::{Deserialize, Serialize};

use crate::{
    Plan, PlanPolicy, StepIndex,
    machine::{
        Capabilities, Entry, Machine, Record as Transition, RecordError, Snapshot, StopReason, plan_codec,
    },
    runner::{PlanError, UnreadableLog},
};

const HEAD_VERSION: u64 = 1;

/// The most bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;

/// The first record of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    version: u64,
    pub(super) run: RunId,
    /// How many records after this one hold the plan.
    pieces: u64,
    /// Where a fork comes from; its state is in the log's first snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) forked: Option<Origin>,
}

/// Where a fork comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    pub(super) plan: PlanId,
    pub(super) run: RunId,
    pub(super) at: u64,
}

impl Head {
    /// How many records come before the first entry.
    pub(super) fn len(&self) -> u64 {
        self.pieces.saturating_add(1)
    }

    /// The place in the log of the entry after the one with this number.
    pub(super) fn after(&self, entry: u64) -> Sequence {
        Sequence::new(self.len().saturating_add(entry))
    }

    /// The head as records.
    pub(super) fn records(
        plan: &Plan,
        run: RunId,
        forked: Option<Origin>,
    ) -> Result<(Self, Vec<Record>), JournalError> {
        let text = plan_codec()
            .and_then(|codec| codec.encode(plan).map_err(|error| error.to_string()))
            .map_err(|error| unwritable(plan.id(), error))?;
        let pieces: Vec<&str> = pieces(&text).collect();
        let head = Self {
            version: HEAD_VERSION,
            run,
            pieces: u64::try_from(pieces.len()).unwrap_or(u64::MAX),
            forked,
        };
        let first = serde_json::to_string(&head).map_err(|error| unwritable(plan.id(), error))?;
        let records = std::iter::once(Record::from(first)).chain(pieces.into_iter().map(Record::from));
        let records = records.collect();
        Ok((head, records))
    }

    fn check(&self) -> Result<(), UnreadableLog> {
        if self.version == HEAD_VERSION {
            return Ok(());
        }
        let text = format!("it has version {} and this version reads {HEAD_VERSION}", self.version);
        Err(UnreadableLog::Head(text.into()))
    }

    /// The head that records begin with, its plan, and what follows.
    pub(super) fn read(records: &[Record]) -> Result<(Self, Plan, &[Record]), UnreadableLog> {
        let (first, rest) = records.split_first().ok_or(UnreadableLog::Incomplete)?;
        let head: Self =
            serde_json::from_slice(first.as_bytes()).map_err(|error| UnreadableLog::Head(error.into()))?;
        head.check()?;
        let pieces = usize::try_from(head.pieces).unwrap_or(usize::MAX);
        let (pieces, rest) = rest.split_at_checked(pieces).ok_or(UnreadableLog::Incomplete)?;
        let bytes: Vec<u8> = pieces.iter().flat_map(Record::as_bytes).copied().collect();
        let text = String::from_utf8(bytes).map_err(|error| UnreadableLog::Head(error.into()))?;
        let plan = plan_codec()
            .map_err(|error| UnreadableLog::Head(error.into()))?
            .decode(&text)
            .map_err(|error| UnreadableLog::Head(error.into()))?;
        Ok((head, plan, rest))
    }
}

pub(super) fn unwritable(plan: &PlanId, error: impl Into<crate::BoxError>) -> JournalError {
    let kind = convoke_core::JournalErrorKind::TooLarge;
    JournalError::new(kind, &LogId::of_plan(plan), "cannot keep the plan, as it has no form in JSON")
        .with_source(error)
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(PIECE_BYTES);
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The plan that is written in a log.
pub(super) fn plan_within(contents: &LogContents) -> Option<PlanId> {
    match &contents.snapshot {
        Some(snapshot) => match Stored::of_snapshot(&snapshot.records).ok()?.start {
            Start::Snapshot(snapshot) => Some(snapshot.plan().id().clone()),
            Start::Plan(plan) => Some(plan.id().clone()),
        },
        None => Some(Head::read(&contents.records).ok()?.1.id().clone()),
    }
}

/// The first record of a snapshot; the machine's texts follow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotHead {
    head: Head,
    since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<StopReason>,
}

/// What a log comes to, as records of a snapshot.
pub(super) fn snapshot(
    head: &Head,
    (since, stop): (u64, Option<StopReason>),
    snapshot: &Snapshot,
) -> Result<Vec<Record>, RecordError> {
    let first = SnapshotHead { head: head.clone(), since, stop };
    let first = serde_json::to_string(&first).map_err(RecordError::Unwritable)?;
    Ok(std::iter::once(first).chain(snapshot.to_json()?).map(Record::from).collect())
}

/// What a log says: its head, how the plan stood at first or at a snapshot, and the entries after that.
pub(super) struct Stored {
    pub(super) head: Head,
    start: Start,
    entries: Vec<Entry>,
    /// The number of the record with which the last run began; 0 where none did.
    pub(super) since: u64,
    /// Why the last run ended; `None` where it did not, as far as is known.
    pub(super) stop: Option<StopReason>,
    /// The number of the last entry.
    pub(super) last: u64,
}

enum Start {
    Plan(Plan),
    Snapshot(Box<Snapshot>),
}

impl Stored {
    /// Reads what a journal has; entries after the one with the number `upto` are left out.
    pub(super) fn read(plan: &PlanId, contents: &LogContents, upto: u64) -> Result<Self, PlanError> {
        let unreadable = |error| PlanError::unreadable(plan, error);
        let (mut stored, rest) = if let Some(snapshot) = &contents.snapshot {
            (Self::of_snapshot(&snapshot.records).map_err(unreadable)?, &*contents.records)
        } else {
            let (head, begun, rest) = Head::read(&contents.records).map_err(unreadable)?;
            if head.forked.is_some() {
                // What it comes to was never written.
                return Err(unreadable(UnreadableLog::Incomplete));
            }
            let start = Start::Plan(begun);
            (Self { head, start, entries: Vec::new(), since: 0, stop: None, last: 0 }, rest)
        };
        for (record, sequence) in rest.iter().zip(stored.last.saturating_add(1)..=upto) {
            let entry = entry(plan, sequence, record)?;
            match entry.record {
                Transition::Begun | Transition::Resumed => {
                    (stored.since, stored.stop) = (entry.sequence, None);
                }
                Transition::Stopped { stop: why } => stored.stop = Some(why),
                _ => {}
            }
            stored.last = entry.sequence;
            stored.entries.push(entry);
        }
        Ok(stored)
    }

    fn of_snapshot(records: &[Record]) -> Result<Self, UnreadableLog> {
        let (first, texts) = records.split_first().ok_or(UnreadableLog::Incomplete)?;
        let first: SnapshotHead =
            serde_json::from_slice(first.as_bytes()).map_err(|error| UnreadableLog::Head(error.into()))?;
        first.head.check()?;
        let texts: Result<Vec<_>, _> =
            texts.iter().map(|text| std::str::from_utf8(text.as_bytes())).collect();
        let texts = texts.map_err(|error| UnreadableLog::Head(error.into()))?;
        let snapshot = Snapshot::from_json(texts).map_err(|error| UnreadableLog::Head(error.into()))?;
        Ok(Self {
            head: first.head,
            since: first.since,
            stop: first.stop,
            last: snapshot.sequence(),
            start: Start::Snapshot(Box::new(snapshot)),
            entries: Vec::new(),
        })
    }

    /// The machine that the log comes to; the entries are used up.
    pub(super) fn replay(
        &mut self,
        plan: &PlanId,
        policy: PlanPolicy,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<Machine, PlanError> {
        let entries = std::mem::take(&mut self.entries);
        let machine = match &self.start {
            Start::Plan(plan) => Machine::replay(plan.clone(), policy, entries, executor),
            Start::Snapshot(snapshot) => Machine::restore(snapshot, policy, entries, executor),
        };
        let machine = machine.map_err(|error| PlanError::unreadable(plan, error))?;
        if machine.plan().id() == plan {
            return Ok(machine);
        }
        let text = format!("it is that of plan `{}`", machine.plan().id());
        Err(PlanError::unreadable(plan, UnreadableLog::Head(text.into())))
    }
}

fn entry(plan: &PlanId, sequence: u64, record: &Record) -> Result<Entry, PlanError> {
    let read = std::str::from_utf8(record.as_bytes())
        .map_err(|error| RecordError::Malformed(serde::de::Error::custom(error)))
        .and_then(Entry::from_json);
    read.map_err(|source| PlanError::unreadable(plan, UnreadableLog::Record { sequence, source }))
}
