//! `release-review`: reviews a release from the evidence in a directory.

mod cli;
mod display;

use std::process::ExitCode;

use clap::Parser as _;
use cli::Cli;
use display::Display;
use release_review::{Error, Exit, Published, Review};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no misuse. Where even printing fails there is nobody left to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Unusable.into() } else { ExitCode::SUCCESS };
        }
    };
    let display = Display::new(cli.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return display.failed(&error, Exit::Failure),
    };
    match runtime.block_on(review(&cli, &display)) {
        Ok(published) => display.published(&published),
        Err(error) => display.failed(&error, error.exit()),
    }
}

async fn review(cli: &Cli, display: &Display) -> Result<Published, Error> {
    let options = cli.options().with_progress(display.watcher());
    let review = match &cli.directory {
        Some(directory) => Review::open(directory, options).await?,
        None => Review::open_default(options).await?,
    };
    display.opened(&review);
    let published = review.run().await;
    review.close();
    published
}
