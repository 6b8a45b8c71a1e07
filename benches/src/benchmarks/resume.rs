//! `resume`: a plan of which 99 of 100 steps are completed, read from a `FileJournal` and run to its end.
//!
//! Work: a journal that is opened, and `PlanRunner::resume` on it, relaxed, whose `PlanRun` is kept. Floor: the files that
//! are read, a checksum of their bytes, and what is in them decoded: the plan or the newest snapshot, and each record
//! after that, all kept. The texts that it decodes are in memory before; where they are in the files only the journal
//! knows. A unit is a step of the plan, the done ones counted in.
//!
//! `log`: no compaction, so that every start and every end is read. `compacted`: as a journal is set by default.

use std::{fs, path::Path, str};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use convoke::PlanId;
use convoke_core::{Journal as _, LogContents, ReadFrom, Record as Bytes};
use convoke_journal::{COMPACT_AT_LEAST, FileJournal, Retain};
use convoke_planning::{
    Plan, PlanCodec, PlanPolicy, PlanRunner,
    machine::{Capabilities, Durability, Record, Snapshot, StopReason},
};

use super::{graphs::Shape, plan::policy};
use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

const LOG: Case = Case {
    benchmark: "resume",
    variant: "log",
    size: Size::Units,
    clock: Clock::Wall,
    sizes: &[1_000, 10_000, 100_000],
    small: &[1_000, 10_000],
    floor: Side::new(|units| floor(units, u64::MAX)),
    work: Side::new(|units| work(units, u64::MAX)),
};

pub(super) const CASES: [Case; 2] = [
    LOG,
    Case {
        variant: "compacted",
        // Below some 6,000 steps it is chance how much of the log came after its last snapshot.
        sizes: &[10_000, 100_000],
        small: &[8_000, 16_000],
        floor: Side::new(|units| floor(units, COMPACT_AT_LEAST)),
        work: Side::new(|units| work(units, COMPACT_AT_LEAST)),
        ..LOG
    },
];

/// A plan that waits in a folder.
struct Stored {
    folder: TempDir,
    plan: PlanId,
}

async fn open(folder: &Path, compact_at_least: u64) -> Result<FileJournal> {
    let journal = FileJournal::builder(folder).compact_at_least(compact_at_least);
    // The floor reads all that is there.
    Ok(journal.retain(Retain::Snapshots(0)).open().await?)
}

fn runner(journal: FileJournal, policy: PlanPolicy) -> Result<PlanRunner> {
    let runner = super::plan::runner(Capabilities::new(), policy).journal(journal);
    Ok(runner.durability(Durability::Relaxed).build()?)
}

/// Runs 99 of 100 steps.
async fn stored(units: usize, compact_at_least: u64) -> Result<Stored> {
    let folder = TempDir::new()?;
    let plan = Shape::Layered.plan(units)?;
    let id = plan.id().clone();
    let done = u64::try_from(units - units / 100)?;
    let journal = open(folder.path(), compact_at_least).await?;
    let run = runner(journal, policy(units)?.steps_per_run(done).build()?)?.run_plan(plan).await?;
    ensure!(run.stop == StopReason::StepBudget, "the run ended with {}", run.stop);
    Ok(Stored { folder, plan: id })
}

fn work(units: usize, compact_at_least: u64) -> Preparing {
    Box::pin(async move {
        let Stored { folder, plan } = stored(units, compact_at_least).await?;
        let policy = policy(units)?.build()?;
        Ok::<Prepared, _>(Box::pin(async move {
            let journal = open(folder.path(), compact_at_least).await?;
            let runner = runner(journal, policy)?;
            let run = runner.resume(&plan).await?;
            ensure!(run.stop == StopReason::Completed, "the run ended with {}", run.stop);
            Ok::<Leftover, _>(Box::new((runner, run, folder)))
        }))
    })
}

fn floor(units: usize, compact_at_least: u64) -> Preparing {
    Box::pin(async move {
        let Stored { folder, .. } = stored(units, compact_at_least).await?;
        let journal = open(folder.path(), compact_at_least).await?;
        let log = journal.list("").await?.pop().context("the journal has no log")?;
        let contents = journal.read(&log, ReadFrom::Latest).await?;
        drop(journal);
        let codec = PlanCodec::new(&policy(units)?.build()?).with_max_bytes(usize::MAX);
        Ok::<Prepared, _>(Box::pin(async move {
            let hash = read(folder.path())?;
            let decoded = Decoded::of(&contents, &codec)?;
            Ok::<Leftover, _>(Box::new((hash, decoded, contents, folder)))
        }))
    })
}

/// Reads every file below a folder; a checksum of all bytes.
fn read(folder: &Path) -> Result<u64> {
    let mut hash = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        hash ^= if path.is_dir() { read(&path)? } else { xxh3_64(&fs::read(path)?) };
    }
    Ok(hash)
}

/// What a log says.
struct Decoded {
    _start: Start,
    _records: Vec<Document>,
}

enum Start {
    Plan(#[expect(dead_code, reason = "it is made and dropped")] Plan),
    Snapshot(#[expect(dead_code, reason = "it is made and dropped")] Snapshot),
}

/// The first record of a log.
#[derive(Deserialize)]
struct Head {
    pieces: usize,
}

/// A record after that.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is made and dropped")]
struct Document {
    version: u64,
    sequence: u64,
    elapsed_millis: u64,
    record: Record,
}

impl Decoded {
    fn of(contents: &LogContents, codec: &PlanCodec) -> Result<Self> {
        let texts = |records: &[Bytes]| -> Result<Vec<String>> {
            let texts = records.iter().map(|record| Ok(str::from_utf8(record.as_bytes())?.to_owned()));
            texts.collect()
        };
        let (start, records) = match (&contents.snapshot, contents.records.split_first()) {
            (Some(snapshot), _) => {
                let texts = texts(snapshot.records.get(1..).unwrap_or_default())?;
                (Start::Snapshot(Snapshot::from_json(texts)?), contents.records.as_slice())
            }
            (None, Some((head, rest))) => {
                let Head { pieces } = serde_json::from_slice(head.as_bytes())?;
                let (pieces, rest) = rest.split_at_checked(pieces).context("the log is cut")?;
                (Start::Plan(codec.decode(&texts(pieces)?.concat())?), rest)
            }
            (None, None) => bail!("the log is empty"),
        };
        let records = records.iter().map(|record| Ok(serde_json::from_slice(record.as_bytes())?));
        Ok(Self { _start: start, _records: records.collect::<Result<_>>()? })
    }
}
