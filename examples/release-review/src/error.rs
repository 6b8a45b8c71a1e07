//! Every way in which a review can fail, for a program that only passes it on.

use crate::{
    evidence::EvidenceError, exit::Exit, gates::GateError, publication::PublishError, request::RequestError,
    results::ResultError, task::TaskError,
};

/// Why a review failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The evidence cannot be used.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The request is refused.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The directory of the review cannot be used.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// An answer was refused.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A result was not saved or not read.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The team of the review could not be set up.
    #[error(transparent)]
    Agents(#[from] convoke::RegistryError),
    /// The runtime of the team could not be set up.
    #[error(transparent)]
    Runtime(#[from] convoke::BuildError),
    /// The team could not run a task.
    #[error(transparent)]
    Team(#[from] convoke::TeamError),
    /// Work on files was cut off, because the tokio runtime ended or because it panicked.
    #[error("work on the files of the review was cut off: run it again")]
    Interrupted(#[source] tokio::task::JoinError),
    /// The report was not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl Error {
    /// The exit status of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Evidence(_)
            | Self::Request(_)
            | Self::Task(
                TaskError::DifferentRequest { .. }
                | TaskError::NotATask { .. }
                | TaskError::ForeignOwner { .. }
                | TaskError::WithinEvidence { .. },
            ) => Exit::Unusable,
            Self::Task(_)
            | Self::Gate(_)
            | Self::Result(_)
            | Self::Agents(_)
            | Self::Runtime(_)
            | Self::Team(_)
            | Self::Interrupted(_)
            | Self::Publish(_) => Exit::Failure,
        }
    }
}
