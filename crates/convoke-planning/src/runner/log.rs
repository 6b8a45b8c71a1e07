//! A plan as a log: its head, and a record for each transition.
//!
//! The head is a record that says which run this is, and behind it the plan's JSON in pieces, since a plan of a million
//! steps is larger than a commit may be. After it, the entry with the number n is the nth record.

use convoke_core::{
    Commit, CommitId, FencingToken, Journal, JournalError, LogContents, LogId, PlanId, Record, RunId,
    Sequence, derived_id,
};
use serde::{Deserialize, Serialize};

use crate::{
    Plan, PlanPolicy, StepIndex,
    machine::{Capabilities, Entry, Machine, Record as Transition, StopReason, plan_codec},
    runner::{PlanError, UnreadableLog},
};

const HEAD_VERSION: u64 = 1;

/// The most bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;

/// How many pieces share a commit.
const PIECES_PER_COMMIT: usize = 16;

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

    /// The head that records begin with, its plan, and what follows.
    pub(super) fn read(records: &[Record]) -> Result<(Self, Plan, &[Record]), UnreadableLog> {
        let (first, rest) = records.split_first().ok_or(UnreadableLog::Incomplete)?;
        let head: Self =
            serde_json::from_slice(first.as_bytes()).map_err(|error| UnreadableLog::Head(error.into()))?;
        if head.version != HEAD_VERSION {
            let text = format!("it has version {} and this version reads {HEAD_VERSION}", head.version);
            return Err(UnreadableLog::Head(text.into()));
        }
        let pieces = usize::try_from(head.pieces).unwrap_or(usize::MAX);
        let (pieces, rest) = rest.split_at_checked(pieces).ok_or(UnreadableLog::Incomplete)?;
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.as_bytes()).copied().collect();
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
    JournalError::new(kind, &log_of(plan), "cannot keep the plan, as it has no form in JSON")
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

/// The log of a plan.
pub(super) fn log_of(plan: &PlanId) -> LogId {
    let id = LogId::new(derived_id(["plan", plan.as_str()]));
    id.unwrap_or_else(|_| unreachable!("an id derived of ids is one"))
}

/// What lists the logs of plans.
pub(super) const LOGS: &str = "plan/";

/// A commit's id: who writes it and where, so that no two writers mean different records by one.
pub(super) fn commit_id(token: FencingToken, expected: Sequence) -> CommitId {
    let id = CommitId::new(format!("{token}-{expected}"));
    id.unwrap_or_else(|_| unreachable!("two numbers make an id"))
}

/// Writes the head of a log that is empty.
pub(super) async fn write_head(
    journal: &impl Journal,
    log: &LogId,
    token: FencingToken,
    records: Vec<Record>,
) -> Result<(), JournalError> {
    let mut expected = Sequence::START;
    for records in records.chunks(PIECES_PER_COMMIT) {
        let commit =
            Commit::new(commit_id(token, expected), token, expected).with_records(records.iter().cloned());
        expected = commit.next();
        journal.append(log, commit).await?;
    }
    Ok(())
}

/// What a log says: its head, the plan as it began, and the entries.
pub(super) struct Stored {
    pub(super) head: Head,
    plan: Plan,
    entries: Vec<Entry>,
    /// The number of the record with which the last run began; 0 where none did.
    pub(super) since: u64,
    /// Why the last run ended; `None` where it did not, as far as is known.
    pub(super) stop: Option<StopReason>,
}

impl Stored {
    /// Reads what a journal has.
    pub(super) fn read(plan: &PlanId, contents: &LogContents) -> Result<Self, PlanError> {
        let (head, begun, rest) =
            Head::read(&contents.records).map_err(|error| PlanError::unreadable(plan, error))?;
        let entries = rest.iter().zip(1..).map(|(record, sequence)| entry(plan, sequence, record));
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        let (mut since, mut stop) = (0, None);
        for entry in &entries {
            match entry.record {
                Transition::Begun | Transition::Resumed => (since, stop) = (entry.sequence, None),
                Transition::Stopped { stop: why } => stop = Some(why),
                _ => {}
            }
        }
        Ok(Self { head, plan: begun, entries, since, stop })
    }

    /// The machine that the log comes to; the entries are used up.
    pub(super) fn replay(
        &mut self,
        plan: &PlanId,
        policy: PlanPolicy,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<Machine, PlanError> {
        let entries = std::mem::take(&mut self.entries);
        Machine::replay(self.plan.clone(), policy, entries, executor)
            .map_err(|error| PlanError::unreadable(plan, error))
    }
}

fn entry(plan: &PlanId, sequence: u64, record: &Record) -> Result<Entry, PlanError> {
    let read = std::str::from_utf8(record.as_bytes())
        .map_err(|error| crate::machine::RecordError::Malformed(serde::de::Error::custom(error)))
        .and_then(Entry::from_json);
    read.map_err(|source| PlanError::unreadable(plan, UnreadableLog::Record { sequence, source }))
}
