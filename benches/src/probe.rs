//! One side of a case, measured in a process of its own: what the programs `time` and `count` do, and how `bench` calls
//! them.

use std::{
    env,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    benchmark::Case,
    benchmarks::cases,
    clock::Clock,
    figures::{Spread, float, float_of},
    place::Place,
    syncs::{self, Syncs},
};

/// Which case, and how. Written by `bench`, and by whoever profiles one case alone.
#[derive(Clone, Debug, Parser)]
#[command(about = "Measures one side of a case and prints it as JSON", disable_help_subcommand = true)]
pub(crate) struct Probe {
    /// The case: `dispatch`, or `acquire/10 skills`.
    pub(crate) case: String,
    /// Which of the two sides.
    #[arg(long, value_enum, default_value_t = Which::Work)]
    pub(crate) side: Which,
    /// How many workers the runtime has; none means the current thread.
    #[arg(long, default_value_t = 0)]
    pub(crate) workers: usize,
    /// The size.
    #[arg(long = "n", value_name = "N")]
    pub(crate) size: usize,
}

/// One of the two sides that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// The least that the same guarantee costs.
    Floor,
    /// What a host does with Convoke.
    Work,
}

/// What one size took: seconds of the floor and of the work, run by run.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) runs: Vec<(f64, f64)>,
}

/// What one side of one size asked of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Calls that ask for memory, to be moved included.
    pub(crate) allocations: f64,
    /// The most bytes in use at a time beyond those at the start.
    pub(crate) peak_bytes: f64,
    /// Calls that wait until something is durable; `None` where they are not counted.
    pub(crate) syncs: Option<f64>,
    /// The bytes that were written into files, counted with the syncs.
    pub(crate) written_bytes: Option<f64>,
}

/// What one size asked of the allocator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) floor: Count,
    pub(crate) work: Count,
}

/// An allocator that counts, as the program that has it shows it.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// How often memory was asked for since the process began.
    pub allocations: fn() -> usize,
    /// Begins a new peak.
    pub reset_peak: fn(),
    /// The most bytes in use at a time since then, beyond those that were in use then.
    pub peak: fn() -> usize,
}

/// How long is enough to look past the moments at which the system lets another process run.
const ENOUGH: Duration = Duration::from_millis(200);

/// As often as a size is timed at most, however short it is.
const MOST_RUNS: usize = 15;

/// The program `time`: seconds, after a warm-up; the median of several runs where one is short.
pub fn time() -> ExitCode {
    answer(|place, case, size| {
        let clock = if place.has_workers() { Clock::Wall } else { case.clock };
        place.seconds(size, clock)?;
        let mut runs = Vec::new();
        let started = Instant::now();
        while runs.is_empty() || (started.elapsed() < ENOUGH && runs.len() < MOST_RUNS) {
            runs.push(place.seconds(size, clock)?);
        }
        Ok(Spread::of(runs).map(|spread| spread.median))
    })
}

/// The program `count`: once, after a warm-up.
pub fn count(counters: &Counters) -> ExitCode {
    answer(|place, _, size| {
        counters.of(place, size)?;
        counters.of(place, size)
    })
}

impl Counters {
    fn of(self, place: &Place, size: usize) -> Result<Count> {
        let start = move || {
            let syncs = Syncs::so_far();
            (self.reset_peak)();
            (syncs, (self.allocations)())
        };
        let stop = move |(syncs, before): (Option<Syncs>, usize)| {
            let (allocations, peak) = ((self.allocations)() - before, (self.peak)());
            let syncs = Syncs::so_far().zip(syncs).map(|(now, before)| now.since(before));
            (allocations, peak, syncs)
        };
        let (allocations, peak, syncs) = place.run(size, start, stop)?;
        Ok(Count {
            allocations: float(allocations),
            peak_bytes: float(peak),
            syncs: syncs.map(|Syncs { syncs, .. }| float_of(syncs)),
            written_bytes: syncs.map(|Syncs { bytes, .. }| float_of(bytes)),
        })
    }
}

fn answer<T: Serialize>(measure: impl FnOnce(&Place, &Case, usize) -> Result<T>) -> ExitCode {
    let probe = Probe::parse();
    let measured = case(&probe.case).and_then(|case| measure(&probe.place(&case)?, &case, probe.size));
    match measured.and_then(|measured| Ok(serde_json::to_string(&measured)?)) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error:#}", probe.case);
            ExitCode::FAILURE
        }
    }
}

fn case(name: &str) -> Result<Case> {
    let found = cases().into_iter().find(|case| case.name() == name);
    found.with_context(|| {
        let names: Vec<_> = cases().iter().map(Case::name).collect();
        format!("there is no such case; there are {}", names.join(", "))
    })
}

impl Probe {
    fn place(&self, case: &Case) -> Result<Place> {
        let side = match self.side {
            Which::Floor => case.floor,
            Which::Work => case.work,
        };
        Place::new(side, self.workers)
    }

    /// Asks the program `time` or `count`, which stands beside this one.
    fn ask<T: DeserializeOwned>(&self, program: &str, counts_syncs: bool) -> Result<T> {
        let path = env::current_exe()?.with_file_name(format!("{program}{}", env::consts::EXE_SUFFIX));
        ensure!(path.is_file(), "no program {}; build all of `convoke-benches`", path.display());
        let side = self.side.to_possible_value();
        let mut command = Command::new(path);
        command
            .arg(&self.case)
            .args(["--side", side.as_ref().map_or("", |side| side.get_name())])
            .args(["--workers", &self.workers.to_string()])
            .args(["--n", &self.size.to_string()])
            .stderr(Stdio::inherit());
        let numbers = if counts_syncs { syncs::counting(&mut command)? } else { None };
        let output = command.output().with_context(|| format!("could not start `{program}`"))?;
        drop(numbers);
        if !output.status.success() {
            bail!("`{program}` ended with {}", output.status);
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not read what `{program}` printed"))
    }
}

/// Floor and work in turn, and every size in each run, so that a machine that becomes slower slows all of them.
pub(crate) fn times(case: &Case, workers: usize, sizes: &[usize], runs: usize) -> Result<Vec<Times>> {
    let mut times = vec![Times { runs: Vec::new() }; sizes.len()];
    for _ in 0..runs {
        for (&size, times) in sizes.iter().zip(&mut times) {
            let (floor, work) = probes(case, workers, size);
            times.runs.push((floor.ask("time", false)?, work.ask("time", false)?));
        }
    }
    Ok(times)
}

/// What each size asks of the allocator.
pub(crate) fn counts(case: &Case, workers: usize, sizes: &[usize]) -> Result<Vec<Counts>> {
    let both = |&size: &usize| {
        let (floor, work) = probes(case, workers, size);
        Ok(Counts {
            floor: floor.ask("count", case.floor.writes_files)?,
            work: work.ask("count", case.work.writes_files)?,
        })
    };
    sizes.iter().map(both).collect()
}

fn probes(case: &Case, workers: usize, size: usize) -> (Probe, Probe) {
    let floor = Probe { case: case.name(), side: Which::Floor, workers, size };
    (floor.clone(), Probe { side: Which::Work, ..floor })
}
