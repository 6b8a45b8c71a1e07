//! Why evidence is refused, with the file and the line.

use std::fmt;

use crate::text::one_line;

/// Evidence that cannot be used: which file, which line, why, and what to do.
///
/// Nothing has been written when this is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct EvidenceError {
    kind: EvidenceErrorKind,
    place: Place,
    reason: String,
}

/// The classes of unusable evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvidenceErrorKind {
    /// A file that the review needs is not there.
    Missing,
    /// Two files say the same thing, and only one may.
    Ambiguous,
    /// A symbolic link, which could lead out of the directory.
    Symlink,
    /// Neither a regular file nor a folder.
    NotRegular,
    /// More bytes, files, folders, tests or levels than allowed.
    Limit,
    /// The content is not what the format asks for.
    Malformed,
    /// The operating system refused.
    Io,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    file: String,
    line: Option<u64>,
}

impl EvidenceError {
    pub(crate) fn new(kind: EvidenceErrorKind, file: &str, reason: impl fmt::Display) -> Self {
        // A hostile file may put control characters into its own name and into a parser's message.
        let place = Place { file: one_line(file, 500), line: None };
        Self { kind, place, reason: one_line(&reason.to_string(), 1_000) }
    }

    pub(crate) fn at(kind: EvidenceErrorKind, file: &str, line: u64, reason: impl fmt::Display) -> Self {
        let mut error = Self::new(kind, file, reason);
        error.place.line = Some(line);
        error
    }

    pub(crate) fn malformed(file: &str, line: u64, reason: impl fmt::Display) -> Self {
        Self::at(EvidenceErrorKind::Malformed, file, line, reason)
    }

    /// The class of the problem.
    pub fn kind(&self) -> EvidenceErrorKind {
        self.kind
    }

    /// The file, relative to the evidence directory; the directory itself is `.`.
    pub fn file(&self) -> &str {
        &self.place.file
    }

    /// The line, counted from 1, where the problem has one.
    pub fn line(&self) -> Option<u64> {
        self.place.line
    }

    /// What is wrong and what to do, without the place.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "`{}:{line}`", self.file),
            None => write!(f, "`{}`", self.file),
        }
    }
}
