//! A release review from outside the workspace: `outside-review <evidence> <task directory>`.
//!
//! It has `release-review` as a library and prints the verdict that the review comes to.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let evidence = arguments.next().context("the first argument is the directory of the evidence")?;
    let task = arguments.next().context("the second argument is the directory of the task")?;

    // The library's API begins here.
    let options = release_review::Options::new(evidence);
    let review = release_review::Review::open(task, options).await?;
    let outcome = review.run().await?;
    review.close().await?;
    let verdict = outcome.verdict();
    // The library's API ends here.

    println!("verdict: {verdict}");
    Ok(())
}
