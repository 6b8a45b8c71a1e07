//! `models`: the concurrent parts under a scheduler that tries many interleavings.

use anyhow::Result;

use crate::{shell, steps::Context};

/// Compiles parts of the workspace a second time, and runs them in a way of its own.
pub(crate) const PACKAGE: &str = "convoke-models";

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let arguments = ["test", "--package", PACKAGE, "--no-fail-fast", "--"];
    shell::run(shell::cargo(&ctx.workspace.root, arguments).args(&ctx.arguments))
}
