//! Why a text is no plan.

use crate::{InvalidPlan, codec::FORMAT_VERSION};

/// Why a plan, a draft or a run cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The text is longer than allowed.
    #[error("plan text has {bytes} bytes and {allowed} are allowed; raise the limit of the codec")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The codec's limit.
        allowed: usize,
    },
    /// There are more steps than allowed.
    #[error("plan text has {steps} steps and `max_steps` is {allowed}; raise it")]
    TooManySteps {
        /// How many there are.
        steps: u64,
        /// The policy's limit.
        allowed: u32,
    },
    /// The text was written by a later version.
    #[error(
        "plan text has format version {version} and this version reads {FORMAT_VERSION}; use a later version of the SDK"
    )]
    NewerVersion {
        /// Its version.
        version: u64,
    },
    /// The text has the version 0, which never was.
    #[error("plan text has format version 0, which does not exist; write {FORMAT_VERSION}")]
    NoSuchVersion,
    /// A plan has no version.
    #[error("plan text has no `format_version`; read it as a draft if a person or a model wrote it")]
    NoVersion,
    /// A plan has no revision.
    #[error("plan text has no `revision`; read it as a draft if a person or a model wrote it")]
    NoRevision,
    /// A plan has no id.
    #[error("plan text has no `id`; read it as a draft if a person or a model wrote it")]
    NoId,
    /// A draft has a revision.
    #[error("plan text has a `revision`, so it is no draft; read it as a plan")]
    DraftWithRevision,
    /// It is no JSON, or not that of a plan. The source says where and why.
    #[error("plan text cannot be read as a plan; mend it")]
    Malformed(#[source] serde_json::Error),
    /// It is no JSON, or not that of a run. The source says where and why.
    #[error("run text cannot be read as a run; mend it")]
    MalformedRun(#[source] serde_json::Error),
    /// A run says one thing of its steps and counts another.
    #[error(
        "run does not agree with itself: its steps are not those of its plan, or its counts not those of its steps; take it \
         as the runner gave it"
    )]
    InconsistentRun,
    /// It cannot be written as JSON. The source says why.
    #[error("plan cannot be written as JSON; mend what the source names")]
    Unwritable(#[source] serde_json::Error),
    /// Written as JSON, it nests deeper than 127 levels, and what does so is not read.
    #[error(
        "plan nests deeper than 127 levels of JSON, which could not be read again; make its data flatter"
    )]
    TooDeep,
    /// The answer has no JSON object.
    #[error("answer has no JSON object; ask for one")]
    NoObject,
    /// The answer ends within its JSON object.
    #[error("answer ends within its JSON object; ask for a shorter one, or allow more tokens")]
    CutOff,
    /// The answer has several JSON objects that could be meant.
    #[error("answer has {objects} JSON objects that could be the plan; ask for exactly one")]
    Ambiguous {
        /// How many.
        objects: usize,
    },
    /// It was read, and is no valid plan.
    #[error(transparent)]
    Invalid(#[from] InvalidPlan),
}
