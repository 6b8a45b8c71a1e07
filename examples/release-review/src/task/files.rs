//! The files of a review's directory: written together, read back with suspicion.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{INDEX_FILE, OUTPUT_FOLDER, REQUEST_FILE, RESULTS_FOLDER, SOURCES_FOLDER, TaskError};
use crate::{
    digest::Digest,
    evidence::{Evidence, MAX_FILE_BYTES, SourceEntry},
    fact::Facts,
    folder::{Folder, OpenError, effective_user, sync_folder},
    leftovers,
    request::Request,
    text::one_line,
};

/// The version of the index that this program writes and reads.
const FORMAT: u32 = 1;

/// `sources.json`: what the copies were when they were made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceIndex {
    format: u32,
    digest: Digest,
    files: Vec<SourceEntry>,
    /// As JSON, since it is compared and never believed.
    facts: Value,
}

impl SourceIndex {
    fn new(evidence: &Evidence, facts: &Facts) -> Result<Self, serde_json::Error> {
        let files = evidence.files().cloned().collect();
        Ok(Self { format: FORMAT, digest: evidence.digest(), files, facts: serde_json::to_value(facts)? })
    }

    /// Checks that request, copies and facts still belong together.
    pub(super) fn check(
        &self,
        path: &Path,
        request: &Request,
        evidence: &Evidence,
        facts: &Facts,
    ) -> Result<(), TaskError> {
        let changed = |name: &str, detail: &str| {
            Err(TaskError::Changed { path: path.join(name), detail: detail.to_owned() })
        };
        if self.format != FORMAT {
            return changed(INDEX_FILE, "it has a format that this program does not read");
        }
        if let Some(extra) = evidence.unread().first() {
            return changed(SOURCES_FOLDER, &format!("`{extra}` was added"));
        }
        let now: Vec<&SourceEntry> = evidence.files().collect();
        if let Some(gone) = self.files.iter().find(|then| !now.iter().any(|file| file.path == then.path)) {
            return changed(SOURCES_FOLDER, &format!("`{}` is gone", gone.path));
        }
        if let Some(file) = now.iter().find(|file| !self.files.contains(file)) {
            return changed(SOURCES_FOLDER, &format!("`{}` is not what it was", file.path));
        }
        if self.digest != evidence.digest() || request.source_digest() != evidence.digest() {
            return changed(REQUEST_FILE, "its digest is not that of the sources");
        }
        if request.release() != evidence.settings().release() {
            return changed(REQUEST_FILE, "its release is not that of the sources");
        }
        let derived = serde_json::to_value(facts).map_err(|error| TaskError::io(path, error.into()))?;
        if self.facts != derived {
            return changed(INDEX_FILE, "its facts are not those of the sources");
        }
        Ok(())
    }
}

/// Whether there is nothing at the path, or an empty folder. A folder with anything else but a review is refused.
pub(super) fn is_vacant(path: &Path) -> Result<bool, TaskError> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(TaskError::NotATask { path: path.to_owned() });
        }
        Err(error) => return Err(TaskError::io(path, error)),
    };
    if entries.next().is_none() {
        return Ok(true);
    }
    let is_task = path.join(REQUEST_FILE).is_file() && path.join(INDEX_FILE).is_file();
    if is_task { Ok(false) } else { Err(TaskError::NotATask { path: path.to_owned() }) }
}

/// Refuses a directory of another user, and a link of another user to one.
///
/// Where everybody may write, somebody may have put it there for others to fill.
pub(super) fn refuse_foreign(path: &Path) -> Result<(), TaskError> {
    for metadata in [fs::symlink_metadata(path), fs::metadata(path)] {
        match metadata {
            Ok(metadata) if metadata.uid() != effective_user() => {
                return Err(TaskError::ForeignOwner { path: path.to_owned() });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(TaskError::io(path, error)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Removes what programs that were killed left beside the directory and in it.
pub(super) fn sweep(path: &Path) {
    if let Some(parent) = path.parent() {
        let contents = [SOURCES_FOLDER, RESULTS_FOLDER, OUTPUT_FOLDER, REQUEST_FILE, INDEX_FILE];
        leftovers::sweep(parent, leftovers::STAGING, &contents);
    }
    for folder in [RESULTS_FOLDER, OUTPUT_FOLDER] {
        leftovers::sweep(&path.join(folder), leftovers::WRITING, &[]);
    }
}

/// Writes everything beside the path and then moves it there; `false` if something stands there by now.
pub(super) fn create_files(
    path: &Path,
    request: &Request,
    evidence: &Evidence,
    facts: &Facts,
) -> Result<bool, TaskError> {
    let Some(parent) = path.parent() else {
        return Err(TaskError::NotATask { path: path.to_owned() });
    };
    refuse_within(path, evidence)?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| TaskError::Io { path, source }
    };
    fs::create_dir_all(parent).map_err(at(parent))?;
    let staging =
        tempfile::Builder::new().prefix(leftovers::STAGING).tempdir_in(parent).map_err(at(parent))?;
    let inner = staging.path();
    let handle = fs::File::open(inner).map_err(at(path))?;
    leftovers::hold(&handle);
    for folder in [SOURCES_FOLDER, RESULTS_FOLDER, OUTPUT_FOLDER] {
        fs::create_dir(inner.join(folder)).map_err(at(path))?;
    }
    let index = SourceIndex::new(evidence, facts).map_err(|error| TaskError::io(path, error.into()))?;
    write_json(&inner.join(REQUEST_FILE), request).map_err(at(path))?;
    write_json(&inner.join(INDEX_FILE), &index).map_err(at(path))?;
    for (entry, bytes) in evidence.contents() {
        write_source(&inner.join(SOURCES_FOLDER), &entry.path, bytes).map_err(at(path))?;
    }
    sync_folder(inner).map_err(at(path))?;
    match fs::rename(inner, path) {
        Ok(()) => {}
        // A folder is only ever moved over an empty one, so whatever stands there stays.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(TaskError::io(path, error)),
    }
    // What it named has moved away and is to stay.
    let _moved = staging.keep();
    sync_folder(parent).map_err(at(parent))?;
    Ok(true)
}

/// Reads one JSON file of a review's directory.
pub(super) fn read_json<T: DeserializeOwned>(
    folder: &Folder,
    path: &Path,
    name: &str,
) -> Result<T, TaskError> {
    let path = path.join(name);
    let bytes = folder.read(name, MAX_FILE_BYTES).map_err(|error| match error {
        OpenError::Io(source) => TaskError::io(&path, source),
        other => TaskError::Changed { path: path.clone(), detail: other.to_string() },
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| TaskError::Changed { path, detail: one_line(&error.to_string(), 200) })
}

fn refuse_within(path: &Path, evidence: &Evidence) -> Result<(), TaskError> {
    // The directory is not there yet, so the nearest folder that is tells where it will lie.
    let nearest = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    if nearest.is_some_and(|nearest| nearest.starts_with(evidence.root())) {
        return Err(TaskError::WithinEvidence { path: path.to_owned() });
    }
    Ok(())
}

fn write_source(root: &Path, relative: &str, bytes: &[u8]) -> io::Result<()> {
    let mut folder = root.to_owned();
    let mut parts = relative.split('/').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            write_new(&folder.join(part), bytes)?;
            return sync_folder(&folder);
        }
        let parent = folder.clone();
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => sync_folder(&parent)?,
        }
    }
    Ok(())
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    write_new(path, &bytes)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
