//! The store of results: each one written once, and checked whole each time it is read.

use std::{io, path::PathBuf};

use crate::{
    canonical::{self, CanonicalError},
    evidence::MAX_FILE_BYTES,
    folder::{Folder, OpenError, WriteOnceError, write_once},
    gates::{GateError, VerifiedFinding, check_finding},
    result::{ResultId, ResultRecord, VerifiedResult},
    roles,
    task::{RESULTS_FOLDER, TaskDirectory, TaskError},
    text::one_line,
};

/// The results of one review.
#[derive(Debug, Clone)]
pub struct ResultStore<'a> {
    task: &'a TaskDirectory,
}

/// Why a result was not saved or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// There is no such result.
    #[error("there is no result `{id}`")]
    NotFound {
        /// The result.
        id: ResultId,
    },
    /// The file is not what was written.
    #[error("result `{id}` was changed ({detail}): restore it or start a new review")]
    Changed {
        /// The result.
        id: ResultId,
        /// What differs.
        detail: String,
    },
    /// The result answers another request.
    #[error("result `{id}` answers another request: it belongs to another review")]
    OtherRequest {
        /// The result.
        id: ResultId,
    },
    /// The finding does not agree with the sources.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The prerequisites are not those of the plan.
    #[error("the result of `{agent}` rests on [{found}]: the plan says [{expected}]")]
    Prerequisites {
        /// The specialist.
        agent: String,
        /// The specialists that it runs after.
        expected: String,
        /// The specialists whose results it names.
        found: String,
    },
    /// The finding is of no specialist of this review.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The record has no canonical form.
    #[error("the result has no digest")]
    Canonical(#[from] CanonicalError),
    /// The operating system refused.
    #[error("`{}` cannot be read or written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl<'a> ResultStore<'a> {
    pub(crate) fn new(task: &'a TaskDirectory) -> Self {
        Self { task }
    }

    /// Saves a finding with the results that its specialist saw. Saving it twice is saving it once.
    ///
    /// The file is durable on return. Dropping the caller midway leaves the whole file or none.
    ///
    /// # Errors
    ///
    /// [`ResultError`] if the finding or its prerequisites do not fit the review, or if the file cannot be written.
    pub fn save(
        &self,
        finding: VerifiedFinding,
        depends_on: &[ResultId],
    ) -> Result<VerifiedResult, ResultError> {
        let finding = finding.into_finding();
        let scope = self.task.scope(&finding.agent)?;
        // The finding may have passed the gate of another review.
        let finding = check_finding(finding, self.task.request().id(), scope)?.into_finding();
        self.check_prerequisites(&finding.agent, depends_on)?;
        let record = ResultRecord {
            format: ResultRecord::FORMAT,
            request: self.task.request_digest(),
            finding,
            depends_on: depends_on.to_vec(),
        };
        let bytes = canonical::to_bytes(&record)?;
        let id = ResultId::of(&bytes);
        write_once(&self.folder(), &file_name(id), &bytes).map_err(|error| match error {
            WriteOnceError::Conflict => {
                ResultError::Changed { id, detail: "its file holds other content".to_owned() }
            }
            WriteOnceError::Io(source) => ResultError::Io { path: self.path(id), source },
        })?;
        Ok(VerifiedResult { id, record })
    }

    /// Reads a result, and checks its bytes, its request, its finding and its prerequisites.
    ///
    /// # Errors
    ///
    /// [`ResultError`] with the first thing that differs.
    pub fn read(&self, id: ResultId) -> Result<VerifiedResult, ResultError> {
        let changed = |detail: String| ResultError::Changed { id, detail };
        let io = |source| ResultError::Io { path: self.path(id), source };
        let folder = Folder::open(self.task.path()).map_err(io)?;
        let bytes = folder
            .folder(RESULTS_FOLDER)
            .and_then(|results| results.read(&file_name(id), MAX_FILE_BYTES))
            .map_err(|error| match error {
                error if error.is_not_found() => ResultError::NotFound { id },
                OpenError::Io(source) => io(source),
                other => changed(format!("its file {other}")),
            })?;
        if ResultId::of(&bytes) != id {
            return Err(changed("its bytes have another digest".to_owned()));
        }
        let record: ResultRecord =
            serde_json::from_slice(&bytes).map_err(|error| changed(one_line(&error.to_string(), 200)))?;
        if record.format != ResultRecord::FORMAT || canonical::to_bytes(&record)? != bytes {
            return Err(changed("it is not in the canonical form of this version".to_owned()));
        }
        if record.request != self.task.request_digest() {
            return Err(ResultError::OtherRequest { id });
        }
        let scope = self.task.scope(&record.finding.agent)?;
        let checked = check_finding(record.finding.clone(), self.task.request().id(), scope)?;
        if checked.finding() != &record.finding {
            return Err(changed("its citations are not in the order of the facts".to_owned()));
        }
        self.check_prerequisites(&record.finding.agent, &record.depends_on)?;
        Ok(VerifiedResult { id, record })
    }

    /// A result rests on exactly one result of each specialist that the plan puts before it.
    fn check_prerequisites(&self, agent: &str, depends_on: &[ResultId]) -> Result<(), ResultError> {
        let expected = roles::prerequisites(agent, self.task.request().mode());
        let refuse = |found: String| {
            let expected = expected.join(", ");
            Err(ResultError::Prerequisites { agent: agent.to_owned(), expected, found })
        };
        // Compared before anything is read: a record cannot make the check read more than the plan has.
        if expected.len() != depends_on.len() {
            return refuse(format!("{} results", depends_on.len()));
        }
        for (prerequisite, id) in expected.iter().zip(depends_on) {
            let result = self.read(*id)?;
            if result.agent() != *prerequisite {
                return refuse(result.agent().to_owned());
            }
        }
        Ok(())
    }

    fn folder(&self) -> PathBuf {
        self.task.path().join(RESULTS_FOLDER)
    }

    fn path(&self, id: ResultId) -> PathBuf {
        self.folder().join(file_name(id))
    }
}

fn file_name(id: ResultId) -> String {
    format!("{id}.json")
}
