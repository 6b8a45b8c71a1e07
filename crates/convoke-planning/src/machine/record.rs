//! What is durable of a run: a record for each transition.

use std::sync::Arc;

use convoke_core::{Metadata, StepId, TaskOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Plan,
    codec::is_object,
    machine::{
        error::StepError,
        event::{Finding, Question},
        gate::RequestId,
        stop::StopReason,
    },
};

mod error;
pub(super) mod plan;

pub use error::RecordError;

pub(crate) use plan::codec as plan_codec;

/// The version of the form of records and snapshots that this crate writes, and the newest that it reads. A new form of
/// plans, which stand in them, is a new form of them.
pub const RECORD_VERSION: u64 = 1;

/// A record with its place among the others. Its size does not depend on the plan's.
///
/// As JSON it is one object, `{"version": 1, "sequence": 7, "elapsed_millis": 120, "record": {"skipped": {"step": "b"}}}`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its number, from 1, without gaps.
    pub sequence: u64,
    /// How long the plan had run by then, in milliseconds, over all resumes.
    pub elapsed_millis: u64,
    /// What happened.
    pub record: Record,
}

#[derive(Deserialize)]
struct Probe {
    version: u64,
}

/// Whether a text is of the version that is read here.
pub(super) fn probe(json: &str) -> Result<(), RecordError> {
    let Probe { version } = serde_json::from_str(json).map_err(RecordError::Malformed)?;
    if version == RECORD_VERSION { Ok(()) } else { Err(RecordError::OtherVersion { version }) }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<R> {
    version: u64,
    sequence: u64,
    elapsed_millis: u64,
    record: R,
}

/// Writes what can be read again.
pub(super) fn write(document: &impl Serialize) -> Result<String, RecordError> {
    let json = serde_json::to_string(document).map_err(RecordError::Unwritable)?;
    if is_object(&json) { Ok(json) } else { Err(RecordError::TooDeep) }
}

impl Entry {
    /// Writes it as JSON, with the version of the form.
    ///
    /// # Errors
    ///
    /// [`RecordError::Unwritable`] where something in it has no form in JSON, [`RecordError::TooDeep`] where what is written could
    /// not be read.
    pub fn to_json(&self) -> Result<String, RecordError> {
        let document = Document {
            version: RECORD_VERSION,
            sequence: self.sequence,
            elapsed_millis: self.elapsed_millis,
            record: &self.record,
        };
        write(&document)
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    ///
    /// [`RecordError`] where it is something else, or of another version.
    pub fn from_json(json: &str) -> Result<Self, RecordError> {
        probe(json)?;
        let Document { sequence, elapsed_millis, record, .. } =
            serde_json::from_str(json).map_err(RecordError::Malformed)?;
        Ok(Self { sequence, elapsed_millis, record })
    }
}

/// What happened to a plan or to one of its steps. Observers may be told of it as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Record {
    /// The plan was begun.
    Begun,
    /// The plan was resumed.
    Resumed,
    /// A step is about to start.
    Started {
        /// The step.
        step: StepId,
        /// Its attempt, from 1.
        attempt: u32,
        /// Whether running it twice is something else than running it once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        side_effect: bool,
    },
    /// The work of a step ended well, and a reflector is to look at it.
    Worked {
        /// The step.
        step: StepId,
        /// What came out.
        output: Arc<TaskOutput>,
    },
    /// A step is completed.
    Completed {
        /// The step.
        step: StepId,
        /// What came out; left out where it is that of the work that ended before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<TaskOutput>>,
        /// What the reflector said of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finding: Option<Finding>,
    },
    /// An attempt failed, and another follows.
    AttemptFailed {
        /// The step.
        step: StepId,
        /// Why.
        error: StepError,
    },
    /// A step failed.
    Failed {
        /// The step.
        step: StepId,
        /// Why.
        error: StepError,
        /// Whether its work still runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        execution_detached: bool,
    },
    /// A step is blocked.
    Blocked {
        /// The step.
        step: StepId,
        /// Why.
        error: StepError,
    },
    /// A step will not run because of what those before it came to.
    Skipped {
        /// The step.
        step: StepId,
    },
    /// The reflector rejected the output of a step, which is tried again under another key.
    Rejected {
        /// The step.
        step: StepId,
        /// What the next attempt is told.
        note: String,
    },
    /// A start of a step does not count: it was taken back, or ended because the run did.
    Released {
        /// The step.
        step: StepId,
    },
    /// A step was found running when the plan was resumed, and is run again.
    Interrupted {
        /// The step.
        step: StepId,
    },
    /// A step was found running when the plan was resumed, and must not be run again unasked.
    OutcomeUnknown {
        /// The step.
        step: StepId,
    },
    /// The run ended while a step ran on.
    Detached {
        /// The step.
        step: StepId,
        /// Why the run ended.
        stop: StopReason,
        /// Whether its executor ends soon once it is asked to.
        executor_cooperative_cancellation: bool,
    },
    /// The work that ran on ended.
    DetachedEnded {
        /// The step.
        step: StepId,
    },
    /// A step waits for an approval.
    ApprovalRequired {
        /// The step.
        step: StepId,
        /// Names the request.
        request: RequestId,
        /// Whether the policy hook was asked before. It was not where there was none, or where nothing could start when the
        /// gate was surfaced; then it is asked before the step starts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hook_asked: bool,
    },
    /// Somebody approved a step.
    Approved {
        /// The step.
        step: StepId,
        /// The request.
        request: RequestId,
        /// What whoever approved attached.
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata,
    },
    /// A step asked a question.
    Asked {
        /// The step.
        step: StepId,
        /// The question.
        question: Question,
    },
    /// Somebody answered the question of a step.
    Answered {
        /// The step.
        step: StepId,
        /// The answer.
        answer: Value,
    },
    /// A step starts anew, and those with it that were skipped because of it.
    Reset {
        /// The step.
        step: StepId,
    },
    /// A planner is to be asked about the end of a step.
    RevisionAsked {
        /// The step.
        step: StepId,
    },
    /// The planner gave another plan. Alone among records, it is as large as the plan.
    Revised {
        /// The plan from now on.
        #[serde(with = "plan")]
        plan: Plan,
    },
    /// The planner gave nothing that fits, so the end of the step stands.
    RevisionFailed {
        /// The step.
        step: StepId,
        /// Why.
        reason: String,
    },
    /// The run is over.
    Stopped {
        /// Why.
        stop: StopReason,
    },
}

impl Record {
    /// The step that it is about; `None` where it is about the plan.
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::Begun | Self::Resumed | Self::Revised { .. } | Self::Stopped { .. } => None,
            Self::Started { step, .. }
            | Self::Worked { step, .. }
            | Self::Completed { step, .. }
            | Self::AttemptFailed { step, .. }
            | Self::Failed { step, .. }
            | Self::Blocked { step, .. }
            | Self::Skipped { step }
            | Self::Rejected { step, .. }
            | Self::Released { step }
            | Self::Interrupted { step }
            | Self::OutcomeUnknown { step }
            | Self::Detached { step, .. }
            | Self::DetachedEnded { step }
            | Self::ApprovalRequired { step, .. }
            | Self::Approved { step, .. }
            | Self::Asked { step, .. }
            | Self::Answered { step, .. }
            | Self::Reset { step }
            | Self::RevisionAsked { step }
            | Self::RevisionFailed { step, .. } => Some(step),
        }
    }
}
