//! The directory of a review: the request, the sources as they were, and the facts derived from them.

mod error;
mod files;

use std::path::{Path, PathBuf};

pub use self::error::TaskError;
use self::files::{SourceIndex, create_files, is_vacant, read_json, refuse_foreign, sweep};
use crate::{
    digest::Digest,
    evidence::{Evidence, SourceEntry, Warning},
    fact::{Facts, ScopedFacts},
    folder::Folder,
    request::Request,
    results::ResultStore,
};

/// The request, in the directory.
const REQUEST_FILE: &str = "request.json";

/// The copies of the evidence's files.
const SOURCES_FOLDER: &str = "sources";

/// Path, size and digest of each copy, and the facts.
const INDEX_FILE: &str = "sources.json";

/// The verified results.
pub(crate) const RESULTS_FOLDER: &str = "results";

/// The published report.
pub(crate) const OUTPUT_FOLDER: &str = "output";

/// The directory of one review.
///
/// It holds its own copy of the evidence, so that moving the original breaks nothing. Files are read, hashed and
/// turned into facts once, when the directory is created or opened; every check after that uses those facts.
#[derive(Debug)]
pub struct TaskDirectory {
    path: PathBuf,
    request: Request,
    request_digest: Digest,
    facts: Facts,
    files: Vec<SourceEntry>,
    warnings: Vec<Warning>,
}

impl TaskDirectory {
    /// Where a review lies if nobody says otherwise: below the system's folder for temporary files.
    pub fn default_path(request: &Request) -> PathBuf {
        std::env::temp_dir().join(format!("release-review-{}", request.id()))
    }

    /// Creates the directory, or opens it if it is that of the same request already.
    ///
    /// It appears whole or not at all. What a review that was killed left half-written, here or beside it, is removed an
    /// hour later.
    ///
    /// # Errors
    ///
    /// [`TaskError`] if the directory holds something else or another request, which stays as it is.
    pub fn create(path: &Path, request: &Request, evidence: &Evidence) -> Result<Self, TaskError> {
        let path = std::path::absolute(path).map_err(|source| TaskError::io(path, source))?;
        if !is_vacant(&path)? {
            return Self::open_same(&path, request);
        }
        let facts = evidence.facts(request.created_at());
        if !create_files(&path, request, evidence, &facts)? {
            // Another program was faster; it may well have been asked the same.
            return Self::open_same(&path, request);
        }
        sweep(&path);
        Ok(Self {
            request_digest: request.digest()?,
            request: request.clone(),
            facts,
            files: evidence.files().cloned().collect(),
            warnings: evidence.warnings().to_vec(),
            path,
        })
    }

    /// As [`create`](Self::create), in [the default directory](Self::default_path), if it is this user's own.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), and [`TaskError::ForeignOwner`].
    pub fn create_default(request: &Request, evidence: &Evidence) -> Result<Self, TaskError> {
        let path = Self::default_path(request);
        refuse_foreign(&path)?;
        let task = Self::create(&path, request, evidence)?;
        // Somebody may have put theirs there in between.
        refuse_foreign(&path)?;
        Ok(task)
    }

    /// Opens a directory and checks that its sources and facts are those of its creation.
    ///
    /// # Errors
    ///
    /// [`TaskError`] if it is no directory of a review, or if anything in it was changed.
    pub fn open(path: &Path) -> Result<Self, TaskError> {
        let path = std::path::absolute(path).map_err(|source| TaskError::io(path, source))?;
        let folder = Folder::open(&path).map_err(|source| TaskError::io(&path, source))?;
        let request: Request = read_json(&folder, &path, REQUEST_FILE)?;
        request.check()?;
        let index: SourceIndex = read_json(&folder, &path, INDEX_FILE)?;
        let evidence = Evidence::open(&path.join(SOURCES_FOLDER))?;
        let facts = evidence.facts(request.created_at());
        index.check(&path, &request, &evidence, &facts)?;
        Ok(Self {
            request_digest: request.digest()?,
            request,
            facts,
            files: evidence.files().cloned().collect(),
            warnings: evidence.warnings().to_vec(),
            path,
        })
    }

    fn open_same(path: &Path, request: &Request) -> Result<Self, TaskError> {
        let task = Self::open(path)?;
        let differences = task.request.differences(request);
        if differences.is_empty() {
            sweep(path);
            return Ok(task);
        }
        Err(TaskError::DifferentRequest { path: path.to_owned(), differences: differences.join(", ") })
    }

    /// The directory, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The facts of every specialist.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The facts of one specialist.
    ///
    /// # Errors
    ///
    /// [`TaskError::UnknownAgent`] for anybody else.
    pub fn scope(&self, agent: &str) -> Result<&ScopedFacts, TaskError> {
        self.facts.scope(agent).ok_or_else(|| TaskError::UnknownAgent { agent: agent.to_owned() })
    }

    /// The files of the sources, sorted by path.
    pub fn files(&self) -> &[SourceEntry] {
        &self.files
    }

    /// What the readers noticed in the sources.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The results of the review.
    pub fn results(&self) -> ResultStore<'_> {
        ResultStore::new(self)
    }

    /// The digest of the request, which every result carries.
    pub fn request_digest(&self) -> Digest {
        self.request_digest
    }
}
