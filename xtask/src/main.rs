//! Automation of the workspace, and its only script language: `cargo xtask <command>`.
//!
//! `ci` is the one check. It runs the steps of [`steps::STEPS`] in order, and each step is a command
//! of its own, so that a failed one is run again alone. Reading and writing are apart: of all
//! commands only `fix` changes a source file.

mod bench;
mod cargo_steps;
mod ci;
mod deny;
mod examples;
mod features;
mod fix;
mod floors;
mod fuzz;
mod metadata;
mod models;
mod package;
mod shell;
mod steps;
mod tally;
mod tidy;
mod tools;

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

use crate::{
    metadata::Workspace,
    steps::{Context, STEPS, Step},
};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".to_owned());
    match run(&command, arguments.collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {command}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, arguments: Vec<String>) -> Result<ExitCode> {
    if matches!(command, "help" | "--help" | "-h") {
        print!("{}", usage());
        return Ok(ExitCode::SUCCESS);
    }
    let step = STEPS.iter().find(|step| step.name == command);
    let takes_any = matches!(command, "bench" | "fuzz") || step.is_some_and(|step| step.takes_arguments);
    if !takes_any && !arguments.is_empty() && (step.is_some() || matches!(command, "ci" | "fix")) {
        bail!("`{command}` takes no arguments, found `{}`", arguments.join(" "));
    }
    let workspace = Workspace::load(&env::current_dir()?)?;
    match (step, command) {
        (Some(step), _) => ci::run_step(step, &mut Context::new(workspace, arguments))?,
        (None, "ci") => return Ok(ci::run(&STEPS, &mut Context::new(workspace, arguments))),
        (None, "fix") => fix::run(&workspace)?,
        (None, "bench") => bench::run(&workspace, &arguments)?,
        (None, "fuzz") => fuzz::run(&workspace, &arguments)?,
        (None, _) => bail!("no command `{command}`; `cargo xtask help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn usage() -> String {
    let width = STEPS.iter().map(|step| step.name.len()).max().unwrap_or_default();
    let line = |name: &str, about: &str| format!("  {name:width$}  {about}\n");
    let steps = STEPS.iter().map(|Step { name, about, .. }| line(name, about)).collect::<String>();
    format!(
        "usage: cargo xtask <command>\n\n{}{}{}{}\nthe steps of ci, each a command too:\n{steps}",
        line("ci", "the one check: every step below, in this order, up to the first that fails"),
        line("fix", "writes: applies clippy's suggestions, then formats"),
        line("bench", "measures [NAME..], each beside its floor, with the release profile; `bench --help`"),
        line("fuzz", "feeds made-up bytes to [TARGET..] for [--seconds N] each; needs a nightly toolchain"),
    )
}
