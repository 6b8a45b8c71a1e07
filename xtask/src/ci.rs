//! Runs steps: a heading, the time, and on a failure what failed and how to run only that again.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::steps::{Context, Step};

/// Runs the steps in order up to the first that fails, and ends with the count of tests.
pub(crate) fn run(steps: &[Step], ctx: &mut Context) -> ExitCode {
    let start = Instant::now();
    let failure = steps.iter().find_map(|step| run_step(step, ctx).err().map(|error| (step, error)));
    let total = seconds(start.elapsed());
    match &failure {
        None => println!("\nall {} steps passed in {total}", steps.len()),
        Some((step, error)) => {
            println!("\nci failed after {total} at its step `{}`", step.name);
            println!("{error:#}");
            println!("to run only this step again: `cargo xtask {}`", step.name);
        }
    }
    // Alone on the last line, where programs look for it. Before the tests ran there is nothing to count.
    if failure.is_none() || !ctx.tally.is_empty() {
        println!("{}", ctx.tally);
    }
    if failure.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one step under its heading.
pub(crate) fn run_step(step: &Step, ctx: &mut Context) -> Result<()> {
    println!("\n== {}: {}", step.name, step.about);
    let start = Instant::now();
    let result = (step.run)(ctx);
    let verdict = if result.is_ok() { "passed" } else { "failed" };
    println!("== {} {verdict} in {}", step.name, seconds(start.elapsed()));
    result
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}
