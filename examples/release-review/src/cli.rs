//! The arguments of the program.

use std::{path::PathBuf, time::Duration};

use clap::Parser;
use release_review::{Mode, Options, RequestOptions};

/// What `--help` says about exit statuses.
const EXIT_STATUSES: &str = "\
Exit status:
  0  the review is completed, and the release is ready
  1  the review failed
  2  the arguments or the evidence cannot be used; nothing was written
  3  the review is completed, and the release is blocked
  4  the review is partial: an agent gave no usable answer";

/// Reviews a release from real evidence, and writes a report whose every fact names its file and line.
///
/// The review reads test reports, defects, the way back and the rota of the directory, asks the specialists for
/// engineering and operations, and puts their verified findings together. It releases nothing.
#[derive(Debug, Parser)]
#[command(name = "release-review", version, after_help = EXIT_STATUSES)]
pub(crate) struct Cli {
    /// The directory of the evidence.
    evidence: PathBuf,

    /// Where the review keeps its request, its copy of the evidence, its results and its report [default: a directory
    /// below the system's temporary folder, named after the review's id].
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// The review's id: 1 to 64 of the characters A-Z a-z 0-9 . _ - [default: from the digest of the evidence].
    #[arg(long)]
    id: Option<String>,

    /// Who asks; one of the principals of release.toml, if it lists any [default: operator]. This is no authentication.
    #[arg(long)]
    principal: Option<String>,

    /// What is asked; at most 2,000 characters [default: whether the release is ready].
    #[arg(long)]
    goal: Option<String>,

    /// Whether specialists work at once or one after the other [default: from release.toml, else parallel].
    #[arg(long, value_name = "parallel|serial", value_parser = mode)]
    mode: Option<Mode>,

    /// Stop after this many seconds, 1 to 3600 [default: never].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..=3600))]
    deadline: Option<u16>,

    /// Print progress and outcome as JSON, an object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Cli {
    pub(crate) fn options(&self) -> Options {
        let mut request = RequestOptions::default();
        request.id.clone_from(&self.id);
        request.principal.clone_from(&self.principal);
        request.goal.clone_from(&self.goal);
        request.mode = self.mode;
        let options = Options::new(&self.evidence).with_request(request);
        match self.deadline {
            Some(seconds) => options.with_deadline(Duration::from_secs(seconds.into())),
            None => options,
        }
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "parallel" => Ok(Mode::Parallel),
        "serial" => Ok(Mode::Serial),
        _ => Err("say parallel or serial".to_owned()),
    }
}
