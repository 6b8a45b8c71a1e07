//! `journal`: plans whose steps do nothing, kept in a `FileJournal`. None of the cases compacts but one, which is
//! as a journal is set by default: how often it is worth it depends on where a plan ends.
//!
//! Floor of the strict cases: a file into which as many bytes are written, and made durable after each step of a chain
//! and after each 64 of a wide plan. Floor of the relaxed one: the same plan without a journal, and a write for each 64
//! steps. What counts are syncs and bytes; how long a sync takes is the disk's.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use tempfile::TempDir;

use convoke_journal::{COMPACT_AT_LEAST, FileJournal};
use convoke_planning::{
    Plan, PlanRunner,
    machine::{Capabilities, Durability},
};

use super::{
    graphs::Shape,
    plan::{idle, run},
    team::LIMIT,
};
use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

/// What a step has in a log, so that the floor writes as much: its start, its end and its place in the plan.
const STEP_BYTES: usize = 300;

/// No log has so many bytes.
const NEVER: u64 = u64::MAX;

const CHAIN: Case = Case {
    benchmark: "journal",
    variant: "strict chain",
    size: Size::Units,
    // The disk works while the thread stands still.
    clock: Clock::Wall,
    sizes: &[1_000, 10_000],
    small: &[500, 2_000],
    floor: Side::new(|units| strict_floor(units, 1)).writing_files(),
    work: Side::new(|units| work(Shape::Chain, Durability::Strict, NEVER, units)).writing_files(),
};

const RELAXED: Case = Case {
    variant: "relaxed wide",
    sizes: &[1_000, 10_000, 100_000],
    small: &[1_000, 10_000],
    floor: Side::new(relaxed_floor).writing_files(),
    work: Side::new(|units| work(Shape::Wide, Durability::Relaxed, NEVER, units)).writing_files(),
    ..CHAIN
};

pub(super) const CASES: [Case; 4] = [
    CHAIN,
    Case {
        variant: "strict wide",
        sizes: &[10_000, 100_000],
        // How many share a sync depends on how long it takes, which is no count.
        small: &[],
        floor: Side::new(|units| strict_floor(units, LIMIT)).writing_files(),
        work: Side::new(|units| work(Shape::Wide, Durability::Strict, NEVER, units)).writing_files(),
        ..CHAIN
    },
    RELAXED,
    Case {
        variant: "relaxed compacted",
        work: Side::new(|units| work(Shape::Wide, Durability::Relaxed, COMPACT_AT_LEAST, units))
            .writing_files(),
        ..RELAXED
    },
];

fn work(shape: Shape, durability: Durability, compact_at_least: u64, units: usize) -> Preparing {
    Box::pin(async move {
        let folder = TempDir::new()?;
        let journal = FileJournal::builder(folder.path()).compact_at_least(compact_at_least).open().await?;
        let runner = idle(Capabilities::new(), units)?.journal(journal).durability(durability).build()?;
        let plan = shape.plan(units)?;
        Ok::<Prepared, _>(Box::pin(async move {
            let left = run(runner, plan).await?;
            Ok::<Leftover, _>(Box::new((left, folder)))
        }))
    })
}

fn strict_floor(units: usize, at_once: usize) -> Preparing {
    Box::pin(async move {
        let folder = TempDir::new()?;
        let mut written = Written::new(folder.path())?;
        Ok::<Prepared, _>(Box::pin(async move {
            for begun in (0..units).step_by(at_once) {
                written.write(at_once.min(units - begun))?;
                written.file.sync_data()?;
            }
            Ok::<Leftover, _>(Box::new((written, folder)))
        }))
    })
}

fn relaxed_floor(units: usize) -> Preparing {
    Box::pin(async move {
        let folder = TempDir::new()?;
        let written = Written::new(folder.path())?;
        let runner = idle(Capabilities::new(), units)?.build()?;
        let plan = Shape::Wide.plan(units)?;
        Ok::<Prepared, _>(Box::pin(without_journal(runner, plan, written, folder)))
    })
}

async fn without_journal(
    runner: PlanRunner,
    plan: Plan,
    mut written: Written,
    folder: TempDir,
) -> Result<Leftover> {
    let units = plan.steps().len();
    let left = run(runner, plan).await?;
    for begun in (0..units).step_by(LIMIT) {
        written.write(LIMIT.min(units - begun))?;
    }
    Ok(Box::new((left, written, folder)))
}

/// A file that only grows.
struct Written {
    file: File,
    bytes: Vec<u8>,
}

impl Written {
    fn new(folder: &Path) -> Result<Self> {
        Ok(Self { file: File::create(folder.join("log"))?, bytes: vec![b'x'; STEP_BYTES * LIMIT] })
    }

    /// What so many steps have in a log.
    fn write(&mut self, steps: usize) -> io::Result<()> {
        let bytes = self.bytes.get(..steps * STEP_BYTES).unwrap_or(&self.bytes);
        self.file.write_all(bytes)
    }
}
