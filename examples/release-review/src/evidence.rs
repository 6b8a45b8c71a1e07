//! Evidence: a directory of real files, read once, hashed once, turned into facts.

mod collect;
mod defects;
mod error;
mod json;
mod junit;
mod lines;
mod minimal;
mod rollback;
mod rota;
mod settings;
mod source_text;
mod warning;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use self::collect::{Collected, Reader, SourceFile};
pub(crate) use self::{
    defects::DefectCounts,
    junit::TestCounts,
    rollback::Rollback,
    rota::Rota,
    settings::{MAX_GOAL, MAX_RELEASE},
};
pub use self::{
    error::{EvidenceError, EvidenceErrorKind},
    settings::{Settings, Thresholds},
    warning::Warning,
};
use crate::{digest::Digest, fact::Facts, roles};

/// The settings file of the full form.
const SETTINGS_FILE: &str = "release.toml";

/// The only file of the single-file form.
const SINGLE_FILE: &str = "sources.json";

/// The most bytes of one file: 16 MB.
pub(crate) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Valid evidence, read whole into memory. Nothing has been written.
#[derive(Debug)]
pub struct Evidence {
    root: PathBuf,
    digest: Digest,
    files: Vec<SourceFile>,
    unread: Vec<String>,
    warnings: Vec<Warning>,
    settings: Settings,
    measurements: Measurements,
}

/// A file of the evidence, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceEntry {
    /// The path, relative to the evidence directory, with `/` between folders.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The digest of the bytes.
    pub sha256: Digest,
}

/// What the readers measured.
#[derive(Debug)]
pub(crate) struct Measurements {
    pub(crate) tests: TestCounts,
    pub(crate) defects: DefectCounts,
    pub(crate) rollback: Rollback,
    pub(crate) rota: Rota,
}

impl Evidence {
    /// Reads and checks a directory of evidence.
    ///
    /// # Errors
    ///
    /// [`EvidenceError`] with the file, the line and the reason, if anything in it is missing, malformed, larger
    /// than 16 MB, a symbolic link or no regular file.
    pub fn open(directory: &Path) -> Result<Self, EvidenceError> {
        let Collected { files, unread } = collect::collect(directory)?;
        let entries: Vec<&SourceEntry> = files.iter().map(|file| &file.entry).collect();
        let digest = crate::canonical::digest(&entries)
            .map_err(|error| EvidenceError::new(EvidenceErrorKind::Limit, ".", error))?;
        let (settings, measurements, warnings) = read(&files)?;
        let root = directory
            .canonicalize()
            .map_err(|error| EvidenceError::new(EvidenceErrorKind::Io, ".", error))?;
        Ok(Self { root, digest, files, unread, warnings, settings, measurements })
    }

    /// The digest of every file's path, size and content.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The settings of the review.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The files that were read, sorted by path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &SourceEntry> {
        self.files.iter().map(|file| &file.entry)
    }

    /// The files that no reader knows by their name, sorted by path. They are not copied.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// What the readers noticed.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The facts of every specialist; a rota is judged at `release_at`, else at `created_at`.
    pub fn facts(&self, created_at: Timestamp) -> Facts {
        roles::facts(&self.settings, &self.measurements, created_at)
    }

    /// The directory that was read, without links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The files with their content.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (&SourceEntry, &[u8])> {
        self.files.iter().map(|file| (&file.entry, file.bytes.as_slice()))
    }
}

fn read(files: &[SourceFile]) -> Result<(Settings, Measurements, Vec<Warning>), EvidenceError> {
    let by_path = |path: &str| files.iter().find(|file| file.entry.path == path);
    let settings = match (by_path(SETTINGS_FILE), by_path(SINGLE_FILE)) {
        (None, Some(single)) => {
            if let Some(other) = files.iter().find(|file| file.entry.path != SINGLE_FILE) {
                let reason = "says all by itself: remove it, or add a release.toml and remove sources.json";
                let reason = format!("stands beside `{}`, but {reason}", other.entry.path);
                return Err(EvidenceError::new(EvidenceErrorKind::Ambiguous, SINGLE_FILE, reason));
            }
            let (settings, measurements) = minimal::read(&single.bytes)?;
            return Ok((settings, measurements, Vec::new()));
        }
        (Some(_), Some(_)) => {
            let reason = "stands beside release.toml: keep one of the two forms of evidence";
            return Err(EvidenceError::new(EvidenceErrorKind::Ambiguous, SINGLE_FILE, reason));
        }
        (None, None) => {
            let reason = "is missing: add it, or a sources.json as the whole evidence";
            return Err(EvidenceError::new(EvidenceErrorKind::Missing, SETTINGS_FILE, reason));
        }
        (Some(file), None) => {
            Settings::parse(SETTINGS_FILE, source_text::source_text(SETTINGS_FILE, &file.bytes)?)?
        }
    };
    let mut warnings = Vec::new();
    let tests = read_tests(files, &mut warnings)?;
    let file = one(files, |reader| matches!(reader, Reader::Defects), "defects.csv or defects.json")?;
    let (defects, remarks) = defects::read(&file.entry.path, &file.bytes, &settings.defects)?;
    warnings.extend(remarks);
    let is_rollback = |reader| matches!(reader, Reader::Runbook | Reader::RollbackStatement);
    let file = one(files, is_rollback, "runbook.md or rollback.json")?;
    let rollback = match file.reader {
        Reader::Runbook => rollback::read_runbook(&file.entry.path, &file.bytes)?,
        _ => rollback::read_statement(&file.entry.path, &file.bytes)?,
    };
    let is_rota = |reader| matches!(reader, Reader::Calendar | Reader::RotaList);
    let file = one(files, is_rota, "oncall.json or an iCalendar file (*.ics)")?;
    let rota = match file.reader {
        Reader::Calendar => rota::read_calendar(&file.entry.path, &file.bytes)?,
        _ => rota::read_json(&file.entry.path, &file.bytes)?,
    };
    Ok((settings, Measurements { tests, defects, rollback, rota }, warnings))
}

/// Every JUnit file, added up.
fn read_tests(files: &[SourceFile], warnings: &mut Vec<Warning>) -> Result<TestCounts, EvidenceError> {
    let mut tests: Option<TestCounts> = None;
    let reports: Vec<&SourceFile> = files.iter().filter(|file| file.reader == Reader::JUnit).collect();
    for (index, file) in reports.iter().enumerate() {
        let path = &file.entry.path;
        let (counts, remarks) = junit::read(path, &file.bytes)?;
        warnings.extend(remarks);
        if let Some(twin) = reports.iter().take(index).find(|twin| twin.entry.sha256 == file.entry.sha256) {
            let text = format!("has the same content as {}, and its tests count once more", twin.entry.path);
            warnings.push(Warning::new(path, 1, &text));
        }
        tests.get_or_insert_default().add(counts);
    }
    tests.ok_or_else(|| {
        EvidenceError::new(EvidenceErrorKind::Missing, ".", "holds no junit report (*.xml): add one")
    })
}

/// The one file that a kind of evidence comes from.
fn one<'a>(
    files: &'a [SourceFile],
    matches: impl Fn(Reader) -> bool,
    wanted: &str,
) -> Result<&'a SourceFile, EvidenceError> {
    let mut found = files.iter().filter(|file| matches(file.reader));
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        (Some(first), Some(second)) => {
            let reason = format!("stands beside `{}`: keep one of them", first.entry.path);
            Err(EvidenceError::new(EvidenceErrorKind::Ambiguous, &second.entry.path, reason))
        }
        (None, _) => {
            let reason = format!("holds no {wanted}: add one");
            Err(EvidenceError::new(EvidenceErrorKind::Missing, ".", reason))
        }
    }
}
