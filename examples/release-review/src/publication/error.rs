//! Why a report was not published.

use std::{io, path::PathBuf};

use crate::{gates::GateError, results::ResultError};

/// Why a report was not published. What was there before is there still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// A specialist has no entry.
    #[error("`{agent}` has no entry: say what became of each specialist")]
    MissingEntry {
        /// The specialist.
        agent: String,
    },
    /// A specialist has more than one entry.
    #[error("`{agent}` has more than one entry")]
    RepeatedEntry {
        /// The specialist.
        agent: String,
    },
    /// Somebody who is no specialist of the review has an entry.
    #[error("`{agent}` has an entry, but is no specialist of this review")]
    ForeignEntry {
        /// The agent.
        agent: String,
    },
    /// An entry contradicts itself or the others.
    #[error("the entry of `{agent}` cannot be: {reason}")]
    InconsistentEntry {
        /// The specialist.
        agent: String,
        /// What does not fit.
        reason: &'static str,
    },
    /// A result is that of another specialist.
    #[error("the entry of `{agent}` names the result of `{found}`")]
    WrongAgent {
        /// The specialist.
        agent: String,
        /// Whose result it is.
        found: String,
    },
    /// A result rests on another result than the one that is published.
    #[error("the result of `{agent}` rests on other results than those that are published")]
    WrongLineage {
        /// The specialist.
        agent: String,
    },
    /// There are results, but no synthesis and no reason for that.
    #[error("there are results, but no synthesis and no reason why it is missing")]
    MissingSynthesis,
    /// There is a synthesis of nothing.
    #[error("there is a synthesis, but no result")]
    UnexpectedSynthesis,
    /// The synthesis' attempts and errors contradict each other.
    #[error("the synthesis has {attempts} attempts, which does not fit its {errors} errors")]
    InconsistentSynthesis {
        /// The attempts.
        attempts: u32,
        /// The errors.
        errors: usize,
    },
    /// A result does not hold.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The synthesis does not hold.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// Another report stands there.
    #[error("`{}` holds another report, which stays as it is: move it away and publish again", path.display())]
    Conflict {
        /// The file.
        path: PathBuf,
    },
    /// The report cannot be written as JSON.
    #[error("the report cannot be written as json")]
    Json(#[from] serde_json::Error),
    /// The operating system refused.
    #[error("`{}` cannot be read or written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}
