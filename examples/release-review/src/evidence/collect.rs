//! Every file below a directory, opened once and without following links.

use std::{fmt, path::Path};

use super::{
    MAX_FILE_BYTES, SETTINGS_FILE, SINGLE_FILE, SourceEntry,
    error::{EvidenceError, EvidenceErrorKind},
};
use crate::{
    digest::Digest,
    folder::{Folder, OpenError, Opened},
    text::is_hidden,
};

/// The most files and folders of a directory, all levels together.
const MAX_ENTRIES: usize = 1_000;

/// The most levels of folders.
const MAX_DEPTH: usize = 8;

/// The most bytes of all files together: 256 MB.
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;

/// A file that a reader knows, with its content.
pub(super) struct SourceFile {
    pub(super) entry: SourceEntry,
    pub(super) reader: Reader,
    pub(super) bytes: Vec<u8>,
}

impl fmt::Debug for SourceFile {
    /// Without the content, which may be long and is nobody's business in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFile")
            .field("entry", &self.entry)
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

/// Who reads a file. The name alone decides, so that content cannot choose its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Settings,
    SingleFile,
    JUnit,
    Defects,
    Runbook,
    RollbackStatement,
    RotaList,
    Calendar,
}

/// What a directory holds.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) files: Vec<SourceFile>,
    pub(super) unread: Vec<String>,
}

pub(super) fn collect(directory: &Path) -> Result<Collected, EvidenceError> {
    let root = Folder::open(directory).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => EvidenceErrorKind::Missing,
            _ => EvidenceErrorKind::Io,
        };
        let reason = format!("cannot be opened as a directory of evidence: {error}");
        EvidenceError::new(kind, &directory.display().to_string(), reason)
    })?;
    let mut walk =
        Walk { collected: Collected { files: Vec::new(), unread: Vec::new() }, entries: 0, bytes: 0 };
    walk.folder(&root, "", 0)?;
    let Walk { mut collected, .. } = walk;
    collected.files.sort_by(|one, other| one.entry.path.cmp(&other.entry.path));
    collected.unread.sort_unstable();
    Ok(collected)
}

#[derive(Debug)]
struct Walk {
    collected: Collected,
    entries: usize,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &Folder, prefix: &str, depth: usize) -> Result<(), EvidenceError> {
        let here = if prefix.is_empty() { "." } else { prefix };
        if depth > MAX_DEPTH {
            let reason = format!("lies more than {MAX_DEPTH} folders deep: move the files up");
            return Err(EvidenceError::new(EvidenceErrorKind::Limit, here, reason));
        }
        let room = MAX_ENTRIES - self.entries;
        let names = folder.names(room).map_err(|error| match error {
            OpenError::TooMany { .. } => too_many(here),
            error => refused(here, &error),
        })?;
        self.entries += names.len();
        for name in names {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if name.chars().any(|character| is_hidden(character) || character == '\\') {
                let reason = "has a hidden character or a backslash in its name: rename it";
                return Err(EvidenceError::new(EvidenceErrorKind::Malformed, &path, reason));
            }
            match folder.entry(&name).map_err(|error| refused(&path, &error))? {
                Opened::Folder(inner) => self.folder(&inner, &path, depth + 1)?,
                Opened::File(file) => match reader(&path, &name) {
                    None => self.collected.unread.push(path),
                    Some(reader) => {
                        let bytes = file.read(MAX_FILE_BYTES).map_err(|error| refused(&path, &error))?;
                        self.keep(path, reader, bytes)?;
                    }
                },
            }
        }
        Ok(())
    }

    fn keep(&mut self, path: String, reader: Reader, bytes: Vec<u8>) -> Result<(), EvidenceError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_TOTAL_BYTES {
            let reason = format!("brings the evidence over {MAX_TOTAL_BYTES} bytes in all: leave files out");
            return Err(EvidenceError::new(EvidenceErrorKind::Limit, &path, reason));
        }
        let sha256 = Digest::of(&bytes);
        self.collected.files.push(SourceFile { entry: SourceEntry { path, size, sha256 }, reader, bytes });
        Ok(())
    }
}

fn reader(path: &str, name: &str) -> Option<Reader> {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    match (path, name, extension.as_deref()) {
        (SETTINGS_FILE, _, _) => Some(Reader::Settings),
        (SINGLE_FILE, _, _) => Some(Reader::SingleFile),
        (_, "defects.csv" | "defects.json" | "issues.json", _) => Some(Reader::Defects),
        (_, "runbook.md", _) => Some(Reader::Runbook),
        (_, "rollback.json", _) => Some(Reader::RollbackStatement),
        (_, "oncall.json", _) => Some(Reader::RotaList),
        (_, _, Some("xml")) => Some(Reader::JUnit),
        (_, _, Some("ics")) => Some(Reader::Calendar),
        _ => None,
    }
}

fn refused(path: &str, error: &OpenError) -> EvidenceError {
    let kind = match error {
        OpenError::Symlink => EvidenceErrorKind::Symlink,
        OpenError::NotRegular => EvidenceErrorKind::NotRegular,
        OpenError::TooLarge { .. } | OpenError::TooMany { .. } => EvidenceErrorKind::Limit,
        OpenError::Name => EvidenceErrorKind::Malformed,
        OpenError::Io(_) => EvidenceErrorKind::Io,
    };
    EvidenceError::new(kind, path, error)
}

fn too_many(path: &str) -> EvidenceError {
    let reason =
        format!("the evidence has more than {MAX_ENTRIES} files and folders: leave out what is not needed");
    EvidenceError::new(EvidenceErrorKind::Limit, path, reason)
}
