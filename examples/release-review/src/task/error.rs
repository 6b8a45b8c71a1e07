//! Why a directory of a review was not created or not opened.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{canonical::CanonicalError, evidence::EvidenceError, request::RequestError};

/// Why a directory of a review was not created or not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The directory holds the review of another request.
    #[error(
        "`{}` holds the review of another request, with a different {differences}: choose another directory or id",
        path.display()
    )]
    DifferentRequest {
        /// The directory.
        path: PathBuf,
        /// The parts that differ.
        differences: String,
    },
    /// The directory holds something that is no review.
    #[error("`{}` is no directory of a review, and not empty: choose another directory", path.display())]
    NotATask {
        /// The directory.
        path: PathBuf,
    },
    /// The default directory is another user's, who could change what is in it.
    #[error("`{}` belongs to another user: choose a directory of your own with --directory", path.display())]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
    },
    /// The directory would lie among the evidence and change it.
    #[error("`{}` lies within the evidence: choose a directory outside of it", path.display())]
    WithinEvidence {
        /// The directory.
        path: PathBuf,
    },
    /// A file that never changes was changed.
    #[error("`{}` was changed since the review was created ({detail}): restore it or start a new review", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What differs.
        detail: String,
    },
    /// An agent that is no specialist of this review.
    #[error("`{agent}` is no specialist of this review")]
    UnknownAgent {
        /// The agent.
        agent: String,
    },
    /// The copies of the evidence cannot be read.
    #[error("the sources of the review cannot be used")]
    Sources(#[from] EvidenceError),
    /// The request in the directory is not valid.
    #[error("the request of the review cannot be used")]
    Request(#[from] RequestError),
    /// The request has no canonical form.
    #[error("the request of the review has no digest")]
    Canonical(#[from] CanonicalError),
    /// The operating system refused.
    #[error("`{}` cannot be read or written", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl TaskError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
