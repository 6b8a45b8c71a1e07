//! The steps that are one command of cargo each.

use std::env;

use anyhow::{Result, bail};

use crate::{models, shell, steps::Context, tools};

pub(crate) fn format(ctx: &mut Context) -> Result<()> {
    tools::require_component("fmt", "rustfmt")?;
    shell::run(&mut shell::cargo(&ctx.workspace.root, ["fmt", "--all", "--check"]))
}

pub(crate) fn lock(ctx: &mut Context) -> Result<()> {
    let root = &ctx.workspace.root;
    shell::run(&mut shell::cargo(root, ["fetch", "--locked"]))?;
    if env::var_os("CI").is_none() || !root.join(".git").exists() {
        return Ok(());
    }
    // `cargo xtask` has already brought a stale file up to date, so that cargo itself sees nothing wrong.
    let mut status = shell::program("git", root);
    status.args(["status", "--porcelain", "--", "Cargo.lock"]);
    if !shell::read(&mut status)?.is_empty() {
        bail!("Cargo.lock does not fit the manifests; run `cargo update --workspace` and commit the file");
    }
    Ok(())
}

pub(crate) fn clippy(ctx: &mut Context) -> Result<()> {
    tools::require_component("clippy", "clippy")?;
    let arguments = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"];
    shell::run(&mut shell::cargo(&ctx.workspace.root, arguments))
}

pub(crate) fn test(ctx: &mut Context) -> Result<()> {
    run_tests(ctx, "--tests")
}

pub(crate) fn doctest(ctx: &mut Context) -> Result<()> {
    run_tests(ctx, "--doc")
}

/// Runs all tests of a kind, past a failed one, so that one run shows every failure. The models have a step of their own.
fn run_tests(ctx: &mut Context, kind: &str) -> Result<()> {
    let arguments =
        ["test", "--workspace", "--exclude", models::PACKAGE, "--all-features", "--no-fail-fast", kind];
    shell::run_tests(&mut shell::cargo(&ctx.workspace.root, arguments), &mut ctx.tally)
}

pub(crate) fn docs(ctx: &mut Context) -> Result<()> {
    let mut command =
        shell::cargo(&ctx.workspace.root, ["doc", "--workspace", "--all-features", "--no-deps"]);
    shell::run(command.env("RUSTDOCFLAGS", "--deny warnings"))
}
