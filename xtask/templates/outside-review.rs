//! A release review from outside the workspace: `outside-review <evidence> <task directory>`.
//!
//! It has `release-review` as a library and prints the verdict that the review comes to.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use release_review::{Options, Review};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let evidence = arguments.next().context("the first argument is the directory of the evidence")?;
    let task = arguments.next().context("the second argument is the directory of the task")?;

    let review = Review::open(task, Options::new(evidence)).await?;
    let report = review.run().await?.report;
    review.close();
    let verdict = report.readiness().context("the review came to no conclusion")?;

    println!("verdict: {verdict}");
    Ok(())
}
