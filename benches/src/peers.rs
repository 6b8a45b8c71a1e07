//! What a user might pick instead, run by scripts and a program of ours with pinned versions, each doing the same work
//! without a model.

mod cargo;
mod python;

use std::{
    env,
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

/// Somebody else who does the work of a benchmark.
struct Peer {
    name: &'static str,
    /// What it does the work of.
    benchmark: &'static str,
    /// What tells it from the same peer's other work; empty where there is none.
    variant: &'static str,
    means: Means,
    /// What is said to it before the number of runs.
    arguments: &'static [&'static str],
}

/// By what a peer is run.
#[derive(Clone, Copy)]
enum Means {
    /// `<script>.py`, and `<script>.txt` with the pinned versions.
    Python(&'static str),
    /// A package outside the workspace, with a lock file of its own.
    Cargo(&'static str),
}

const fn rust(name: &'static str, variant: &'static str, arguments: &'static [&'static str]) -> Peer {
    Peer { name, benchmark: "plan", variant, means: Means::Cargo("plans"), arguments }
}

const fn langgraph(variant: &'static str, arguments: &'static [&'static str]) -> Peer {
    Peer { name: "langgraph", benchmark: "plan", variant, means: Means::Python("langgraph_plan"), arguments }
}

/// As many units as each can do within seconds; those whose time grows with the square have two sizes.
const PEERS: [Peer; 16] = [
    Peer {
        name: "autogen-core",
        benchmark: "dispatch",
        variant: "",
        means: Means::Python("autogen_core_dispatch"),
        arguments: &[],
    },
    rust("graph-flow", "chain", &["graph-flow", "chain", "10000"]),
    rust("graph-flow", "wide", &["graph-flow", "wide", "10000"]),
    rust("dagrs", "chain", &["dagrs", "chain", "1000"]),
    rust("dagrs", "chain", &["dagrs", "chain", "10000"]),
    rust("dagrs", "wide", &["dagrs", "wide", "1000"]),
    rust("dagrs", "wide", &["dagrs", "wide", "10000"]),
    rust("adk-graph", "chain", &["adk-graph", "chain", "100"]),
    rust("adk-graph", "chain", &["adk-graph", "chain", "1000"]),
    rust("adk-graph", "wide", &["adk-graph", "wide", "1000"]),
    langgraph("chain", &["chain", "none", "1000"]),
    langgraph("chain, memory", &["chain", "memory", "1000"]),
    langgraph("chain, sqlite", &["chain", "sqlite", "1000"]),
    langgraph("wide", &["wide", "none", "1000"]),
    langgraph("wide, memory", &["wide", "memory", "1000"]),
    langgraph("wide, sqlite", &["wide", "sqlite", "1000"]),
];

/// How often each is run; the median counts.
const RUNS: &str = "5";

/// What a peer prints.
#[derive(Debug, Deserialize)]
struct Answer {
    version: String,
    units: usize,
    micros: f64,
}

/// A line of JSON.
#[derive(Debug, Serialize)]
struct Line<'a> {
    benchmark: &'a str,
    peer: &'a str,
    variant: &'a str,
    version: &'a str,
    units: usize,
    micros: f64,
}

/// Runs the peers of some benchmarks, and prints what a unit takes them. One that cannot be run is named, and the others
/// go on.
///
/// # Errors
///
/// Where there was one that could not be run.
pub(crate) fn run(benchmarks: &[&str], mut json: Option<&mut File>) -> Result<()> {
    let mut missing = Vec::new();
    for peer in PEERS.iter().filter(|peer| benchmarks.contains(&peer.benchmark)) {
        let Peer { name, benchmark, variant, .. } = *peer;
        let Answer { version, units, micros } = match peer.run() {
            Ok(answer) => answer,
            Err(error) => {
                println!("{benchmark:<24} {name} {variant}: not measured: {error:#}");
                missing.push(name);
                continue;
            }
        };
        println!("{benchmark:<24} {name} {version} {variant}: {micros:.2} µs a unit, {units} units");
        if let Some(json) = json.as_deref_mut() {
            let line = Line { benchmark, peer: name, variant, version: &version, units, micros };
            writeln!(json, "{}", serde_json::to_string(&line)?)?;
        }
    }
    missing.dedup();
    ensure!(missing.is_empty(), "peers were not measured: {}; see above why", missing.join(", "));
    Ok(())
}

impl Peer {
    fn run(&self) -> Result<Answer> {
        let mut command = match self.means {
            Means::Python(script) => python::command(self.name, script)?,
            Means::Cargo(package) => cargo::command(package)?,
        };
        command.args(self.arguments).arg(RUNS);
        let output = command.output().with_context(|| format!("could not start {command:?}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} ended with {}\n{errors}", output.status);
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not read what {command:?} printed"))
    }
}

/// Where the scripts and packages are.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Where what they need is put.
fn target() -> Result<PathBuf> {
    let program = env::current_exe()?;
    Ok(program.ancestors().nth(2).context("no target folder around this program")?.join("peers"))
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("could not start {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}\n{errors}", output.status);
    Ok(())
}
