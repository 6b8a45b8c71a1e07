//! One case, measured in a process of its own: what the programs `time` and `count` do, and how `bench` calls them.

use std::{
    env,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{benchmark::Case, benchmarks::cases, figures::float, place::Place};

/// Which case, and how. Written by `bench`, and by whoever profiles one case alone.
#[derive(Clone, Debug, Parser)]
#[command(about = "Measures one case and prints it as JSON", disable_help_subcommand = true)]
pub(crate) struct Probe {
    /// The case: `dispatch`, or `acquire/10 skills`.
    pub(crate) case: String,
    /// How many workers the runtime has; none means the current thread.
    #[arg(long, default_value_t = 0)]
    pub(crate) workers: usize,
    /// The sizes, ascending.
    #[arg(long = "n", value_name = "N,N", value_delimiter = ',', required = true)]
    pub(crate) sizes: Vec<usize>,
    /// How often each is measured, after a warm-up.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
}

/// What one size took: seconds of the floor and of the work, run by run.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
}

/// What one size asked of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// The program `time`: floor and work in turn, the first run of each dropped.
pub fn time() -> ExitCode {
    answer(|probe, case| {
        let floor = Place::new(case.floor, probe.workers)?;
        let work = Place::new(case.work, probe.workers)?;
        let mut times = vec![Times { runs: Vec::new() }; probe.sizes.len()];
        for run in 0..=probe.runs {
            // Every size in each run, so that a machine that becomes slower slows all of them.
            for (&size, times) in probe.sizes.iter().zip(&mut times) {
                let pair = (floor.seconds(size)?, work.seconds(size)?);
                if run > 0 {
                    times.runs.push(pair);
                }
            }
        }
        Ok(times)
    })
}

/// The program `count`: each side once, after a warm-up.
pub fn count(counters: &Counters) -> ExitCode {
    let counters = *counters;
    answer(move |probe, case| {
        let floor = Place::new(case.floor, probe.workers)?;
        let work = Place::new(case.work, probe.workers)?;
        let counted = |place: &Place, size| {
            counters.of(place, size)?;
            counters.of(place, size)
        };
        let both = |&size: &usize| Ok(Counts { floor: counted(&floor, size)?, work: counted(&work, size)? });
        probe.sizes.iter().map(both).collect::<Result<Vec<_>>>()
    })
}

impl Counters {
    fn of(self, place: &Place, size: usize) -> Result<Count> {
        let start = move || {
            (self.reset_peak)();
            (self.allocations)()
        };
        let stop = move |before| ((self.allocations)() - before, (self.peak)());
        let (allocations, peak) = place.run(size, start, stop)?;
        Ok(Count { allocations: float(allocations), peak_bytes: float(peak) })
    }
}

fn answer<T: Serialize>(measure: impl FnOnce(&Probe, &Case) -> Result<Vec<T>>) -> ExitCode {
    let probe = Probe::parse();
    let measured = case(&probe.case).and_then(|case| measure(&probe, &case));
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
    /// Asks the program `time` or `count`, which stands beside this one; answers for each size.
    pub(crate) fn ask<T: DeserializeOwned>(&self, program: &str) -> Result<Vec<T>> {
        let path = env::current_exe()?.with_file_name(format!("{program}{}", env::consts::EXE_SUFFIX));
        ensure!(path.is_file(), "no program {}; build all of `convoke-benches`", path.display());
        let sizes: Vec<_> = self.sizes.iter().map(ToString::to_string).collect();
        let mut command = Command::new(path);
        command
            .arg(&self.case)
            .args(["--workers", &self.workers.to_string()])
            .args(["--n", &sizes.join(",")])
            .args(["--runs", &self.runs.to_string()])
            .stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("could not start `{program}`"))?;
        if !output.status.success() {
            bail!("`{program}` ended with {}", output.status);
        }
        let answers: Vec<T> = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not read what `{program}` printed"))?;
        ensure!(answers.len() == self.sizes.len(), "`{program}` left sizes out");
        Ok(answers)
    }
}
