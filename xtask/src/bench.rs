//! `bench`: the benchmarks with the release profile; and `counts`, what of them is the same on every machine.

use anyhow::Result;

use crate::{metadata::Workspace, shell, steps::Context};

const PACKAGE: &str = "convoke-benches";

/// Measures time, allocations and memory. The arguments are those of the program, which knows the benchmarks.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    start(workspace, &["--release"], arguments)
}

/// Checks allocations, memory, syncs and bytes at small sizes, in the profile that the tests were built in. Time is never checked here.
pub(crate) fn counts(ctx: &mut Context) -> Result<()> {
    start(&ctx.workspace, &[], &["--counts".to_owned(), "--check".to_owned()])
}

/// Builds every program of the package, since the one that is run calls the others.
fn start(workspace: &Workspace, profile: &[&str], arguments: &[String]) -> Result<()> {
    let mut build = shell::cargo(&workspace.root, ["build", "--quiet", "--package", PACKAGE, "--bins"]);
    shell::run(build.args(profile))?;
    let mut run = shell::cargo(&workspace.root, ["run", "--quiet", "--package", PACKAGE]);
    shell::run(run.args(profile).arg("--").args(arguments))
}
