//! The program `bench`: which cases, what of them, and whether they must reach their targets.

use std::{fs::File, io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::Parser;

use crate::{
    benchmark::Case,
    benchmarks::cases,
    check::{checked, missed},
    peers,
    probe::{counts, times},
    report,
    series::{Line, lines},
};

/// The current thread, and two workers.
const WORKERS: [usize; 2] = [0, 2];

#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", about = "Measures what the runtime costs, each case beside its floor")]
struct Options {
    /// Benchmarks, or single cases of them as the table names them; all unless given.
    names: Vec<String>,
    /// The sizes, instead of those of each case; for `acquire` the number of agents.
    #[arg(long = "n", value_name = "N,N", value_delimiter = ',')]
    sizes: Vec<usize>,
    /// How many pairs of floor and work are timed, each after a warm-up.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Writes every line of the table as JSON too, into a new file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs what a user might pick instead, too: scripts and a program of ours in `benches/peers/`.
    #[arg(long)]
    peers: bool,
    /// Fails where a target is missed by more than its margin.
    #[arg(long)]
    check: bool,
    /// Looks at allocations, memory, syncs and bytes alone, at small sizes: within a minute or two, and the same on every
    /// machine.
    #[arg(long)]
    counts: bool,
}

/// The program `bench`.
pub fn bench() -> ExitCode {
    match Options::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn run(&self) -> Result<()> {
        let chosen = self.chosen()?;
        let mut json =
            self.json.as_ref().map(File::create).transpose().context("no file for the JSON lines")?;
        let mut all = Vec::new();
        println!("{}", report::header());
        for case in &chosen {
            for workers in WORKERS {
                for line in self.measure(case, workers).with_context(|| case.name())? {
                    println!("{}", report::row(&line));
                    if let Some(json) = &mut json {
                        writeln!(json, "{}", serde_json::to_string(&line)?)?;
                    }
                    all.push(line);
                }
            }
        }
        if self.peers {
            let benchmarks: Vec<_> = chosen.iter().map(|case| case.benchmark).collect();
            peers::run(&benchmarks, json.as_mut())?;
        }
        if self.check { check(&all) } else { Ok(()) }
    }

    fn chosen(&self) -> Result<Vec<Case>> {
        let is_named = |case: &Case, name: &String| case.benchmark == name || case.name() == *name;
        let cases = cases();
        for name in &self.names {
            if !cases.iter().any(|case| is_named(case, name)) {
                let names: Vec<_> = cases.iter().map(Case::name).collect();
                bail!("there is no benchmark `{name}`; there are {}", names.join(", "));
            }
        }
        let is_chosen =
            |case: &Case| self.names.is_empty() || self.names.iter().any(|name| is_named(case, name));
        Ok(cases.into_iter().filter(is_chosen).collect())
    }

    fn measure(&self, case: &Case, workers: usize) -> Result<Vec<Line>> {
        let sizes = match (self.sizes.as_slice(), self.counts) {
            ([], true) => case.small,
            ([], false) => case.sizes,
            (sizes, _) => sizes,
        };
        if sizes.is_empty() {
            return Ok(vec![]);
        }
        let times = if self.counts { None } else { Some(times(case, workers, sizes, self.runs)?) };
        let counts = counts(case, workers, sizes)?;
        Ok(lines(case, workers, sizes, times.as_deref(), Some(&counts)))
    }
}

fn check(lines: &[Line]) -> Result<()> {
    let missed = missed(lines);
    for one in &missed {
        println!("missed: {one}");
    }
    match missed.len() {
        0 => println!("{} figures are within their targets", checked(lines)),
        some => bail!("{some} of {} figures miss their targets", checked(lines)),
    }
    Ok(())
}
