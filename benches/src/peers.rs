//! What a user might pick instead, run by scripts of ours with pinned versions, each doing the same work without a model.

use std::{
    env,
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// A script of ours, beside a list of what it needs.
struct Peer {
    name: &'static str,
    /// What it does the work of.
    benchmark: &'static str,
    /// Without the ending: `<script>.py`, and `<script>.txt` with the pinned versions.
    script: &'static str,
}

const PEERS: [Peer; 1] =
    [Peer { name: "autogen-core", benchmark: "dispatch", script: "autogen_core_dispatch" }];

/// How often each is run; the median counts.
const RUNS: &str = "5";

/// What a script prints.
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
    version: &'a str,
    units: usize,
    micros: f64,
}

/// Runs the peers of some benchmarks, and prints what a unit takes them.
pub(crate) fn run(benchmarks: &[&str], mut json: Option<&mut File>) -> Result<()> {
    for peer in PEERS.iter().filter(|peer| benchmarks.contains(&peer.benchmark)) {
        let Answer { version, units, micros } =
            peer.run().with_context(|| format!("peer {} of `{}`", peer.name, peer.benchmark))?;
        println!("{:<24} {} {version}: {micros:.2} µs a unit, {units} units", peer.benchmark, peer.name);
        if let Some(json) = json.as_deref_mut() {
            let Peer { name, benchmark, .. } = *peer;
            let line = Line { benchmark, peer: name, version: &version, units, micros };
            writeln!(json, "{}", serde_json::to_string(&line)?)?;
        }
    }
    Ok(())
}

impl Peer {
    fn run(&self) -> Result<Answer> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let python = self.environment(&scripts.join(format!("{}.txt", self.script)))?;
        let script = scripts.join(format!("{}.py", self.script));
        let output =
            Command::new(python).arg(&script).arg(RUNS).output().context("could not start python")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} ended with {}\n{errors}", script.display(), output.status);
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not read what {} printed", script.display()))
    }

    /// A virtual environment below the target folder with what the script needs; made where it is not there.
    fn environment(&self, requirements: &Path) -> Result<PathBuf> {
        let program = env::current_exe()?;
        let target = program.ancestors().nth(2).context("no target folder around this program")?;
        let folder = target.join("peers").join(self.name);
        let python =
            if cfg!(windows) { folder.join("Scripts/python.exe") } else { folder.join("bin/python") };
        if !python.is_file() {
            let Ok(system) = find_python() else {
                bail!("no Python; install Python 3.10 or newer, or leave `--peers` out");
            };
            succeed(Command::new(system).args(["-m", "venv"]).arg(&folder))?;
        }
        // Where everything is there already, this asks no registry.
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        succeed(install.arg(requirements))?;
        Ok(python)
    }
}

fn find_python() -> Result<&'static str> {
    let is_there = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|answer| answer.status.success())
    };
    ["python3", "python"].into_iter().find(is_there).context("no Python on the search path")
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("could not start {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}\n{errors}", output.status);
    Ok(())
}
