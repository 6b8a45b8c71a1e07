//! Publication: everything is verified once more, then the report is written, once and for all.

mod error;
mod verify;

use std::path::{Path, PathBuf};

pub use self::error::PublishError;
use crate::{
    folder::{Folder, OpenError, WriteOnceError, holds, write_once},
    outcome::Outcome,
    report::Report,
    task::{OUTPUT_FOLDER, TaskDirectory},
};

/// The report for programs.
const JSON_FILE: &str = "report.json";

/// The report for people.
const MARKDOWN_FILE: &str = "report.md";

/// A published report.
#[derive(Debug)]
pub struct Published {
    /// The report.
    pub report: Report,
    /// The report for programs.
    pub json: PathBuf,
    /// The report for people.
    pub markdown: PathBuf,
}

/// Verifies a review and writes `output/report.json` and `output/report.md`.
///
/// Publishing the same again is fine, and so is trying again after a failure.
///
/// # Errors
///
/// [`PublishError`] if anything of the review does not hold, or if another report stands there, which stays as it is.
pub fn publish(task: &TaskDirectory, outcome: &Outcome) -> Result<Published, PublishError> {
    let report = verify::verify(task, outcome)?;
    let folder = task.path().join(OUTPUT_FOLDER);
    let json = report.to_json()?;
    let markdown = report.to_markdown().into_bytes();
    let files = [(JSON_FILE, json), (MARKDOWN_FILE, markdown)];
    // All are looked at before any is written, so that a conflict leaves no half of a new report.
    for (name, bytes) in &files {
        refuse_conflict(&folder, name, bytes)?;
    }
    for (name, bytes) in &files {
        write_once(&folder, name, bytes).map_err(|error| match error {
            WriteOnceError::Conflict => PublishError::Conflict { path: folder.join(name) },
            WriteOnceError::Io(source) => PublishError::Io { path: folder.join(name), source },
        })?;
    }
    Ok(Published { report, json: folder.join(JSON_FILE), markdown: folder.join(MARKDOWN_FILE) })
}

fn refuse_conflict(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), PublishError> {
    let path = folder.join(name);
    let is_there = match Folder::open(folder).map_err(OpenError::from).and_then(|open| open.entry(name)) {
        Err(error) if error.is_not_found() => false,
        Err(OpenError::Io(source)) => return Err(PublishError::Io { path, source }),
        Ok(_) | Err(_) => true,
    };
    let same =
        holds(folder, name, bytes).map_err(|source| PublishError::Io { path: path.clone(), source })?;
    if is_there && !same { Err(PublishError::Conflict { path }) } else { Ok(()) }
}
