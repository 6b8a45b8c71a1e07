//! `fuzz`: what is read from outside, under bytes that libFuzzer makes up.
//!
//! No step of `ci`, which replays the corpora in its tests and needs no other compiler for that.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::{metadata::Workspace, shell, tools::Tool};

const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2", features: &[] };

/// The instrumentation that libFuzzer looks at is unstable.
const TOOLCHAIN: &str = "nightly";

/// How long each target runs unless said otherwise.
const SECONDS: u32 = 30;

/// The longest input, in bytes: long enough for a whole log or plan, and short enough to try thousands in a second.
const LONGEST: u32 = 4096;

/// A file system in memory, where there is one: what a target syncs costs nothing there.
const MEMORY: &str = "/dev/shm";

/// What the command was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    targets: Vec<String>,
    seconds: u32,
}

/// The part of `fuzz/Cargo.toml` that names the targets.
#[derive(Deserialize)]
struct Manifest {
    bin: Vec<Binary>,
}

#[derive(Deserialize)]
struct Binary {
    name: String,
}

/// Runs each target for its time, up to the first that finds something.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let request = request(arguments, &targets(workspace)?)?;
    require_toolchain()?;
    let program = CARGO_FUZZ.ensure(workspace)?;
    let cargo_fuzz = |subcommand| {
        let mut command = shell::program("rustup", &workspace.root);
        command.args(["run", TOOLCHAIN]).arg(&program).args([
            subcommand,
            "--sanitizer",
            "none",
            "--target-dir",
        ]);
        command.arg(workspace.target_directory.join("fuzz"));
        command
    };
    // All at once, so that what fails afterwards is a target that has found something.
    shell::run(&mut cargo_fuzz("build"))?;
    for target in &request.targets {
        let mut command = cargo_fuzz("run");
        // What is new goes into the first folder; the seeds are read.
        command.arg(target).arg(grown(workspace, target)?).arg(seeds(workspace, target));
        command.args(["--", "-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048"]);
        command.arg(format!("-max_len={LONGEST}")).arg(format!("-max_total_time={}", request.seconds));
        if Path::new(MEMORY).is_dir() {
            command.env("TMPDIR", MEMORY);
        }
        shell::run(&mut command).with_context(|| {
            format!(
                "target `{target}` failed; mend what it found, which is in fuzz/artifacts/{target}, and keep the \
                 input in fuzz/corpus/{target}"
            )
        })?;
    }
    Ok(())
}

/// What the arguments ask for, of the targets that there are.
fn request(arguments: &[String], targets: &[String]) -> Result<Request> {
    let mut request = Request { targets: vec![], seconds: SECONDS };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
            // For libFuzzer 0 is without end.
            request.seconds = seconds
                .filter(|seconds| *seconds > 0)
                .context("`--seconds` takes how long each target runs, from 1")?;
        } else if targets.contains(argument) {
            request.targets.push(argument.clone());
        } else {
            bail!("no target `{argument}`; there are `{}`, and `--seconds N`", targets.join("`, `"));
        }
    }
    if request.targets.is_empty() {
        request.targets = targets.to_vec();
    }
    Ok(request)
}

fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let path = workspace.root.join("fuzz/Cargo.toml");
    let text =
        fs::read_to_string(&path).context("could not read fuzz/Cargo.toml, which names the targets")?;
    let manifest: Manifest = toml::from_str(&text).context("could not read fuzz/Cargo.toml")?;
    Ok(manifest.bin.into_iter().map(|binary| binary.name).collect())
}

/// What every run begins with, and the tests replay.
fn seeds(workspace: &Workspace, target: &str) -> PathBuf {
    workspace.root.join("fuzz/corpus").join(target)
}

/// Where the corpus of a target grows from run to run.
fn grown(workspace: &Workspace, target: &str) -> Result<PathBuf> {
    let folder = workspace.target_directory.join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

fn require_toolchain() -> Result<()> {
    let mut command = shell::program("rustup", Path::new("."));
    let answer = shell::capture(command.args(["run", TOOLCHAIN, "rustc", "--version"]))
        .context("fuzzing needs a second compiler, which rustup brings; install it from https://rustup.rs")?;
    if !answer.status.success() {
        bail!(
            "toolchain `{TOOLCHAIN}` is not installed; run `rustup toolchain install {TOOLCHAIN} --profile minimal`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
