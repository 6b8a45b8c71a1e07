//! The document: plan and draft in one form.

use serde::{Deserialize, Serialize, Serializer};

use convoke_core::{Artifact, Metadata};

use crate::{
    CodecError, Plan, PlanDraft, PlanStep, StepDraft,
    codec::{FORMAT_VERSION, extract},
};

#[derive(Serialize)]
pub(super) struct Written<'a> {
    format_version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    goal: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    steps: Steps<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    artifacts: &'a [Artifact],
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

enum Steps<'a> {
    Plan(&'a [PlanStep]),
    Draft(&'a [StepDraft]),
}

impl<'a> Written<'a> {
    pub(super) fn plan(plan: &'a Plan) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            id: Some(plan.id().as_str()),
            goal: plan.goal(),
            revision: Some(plan.revision()),
            steps: Steps::Plan(plan.steps()),
            artifacts: plan.artifacts(),
            metadata: plan.metadata(),
        }
    }

    pub(super) fn draft(draft: &'a PlanDraft) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            id: draft.id.as_deref(),
            goal: &draft.goal,
            revision: None,
            steps: Steps::Draft(&draft.steps),
            artifacts: &draft.artifacts,
            metadata: &draft.metadata,
        }
    }
}

/// Writes what can be read again.
pub(super) fn to_json(document: &impl Serialize) -> Result<String, CodecError> {
    let json = serde_json::to_string(document).map_err(CodecError::Unwritable)?;
    if extract::is_object(&json) { Ok(json) } else { Err(CodecError::TooDeep) }
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // One step is copied at a time, so that a plan and a draft cannot come to be written differently.
            Self::Plan(steps) => serializer.collect_seq(steps.iter().map(StepDraft::from)),
            Self::Draft(steps) => serializer.collect_seq(*steps),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Read {
    /// Where there was a first look, that has read it.
    pub(super) format_version: Option<u64>,
    id: Option<String>,
    goal: String,
    pub(super) revision: Option<u64>,
    steps: Vec<StepDraft>,
    artifacts: Vec<Artifact>,
    metadata: Metadata,
}

impl Read {
    pub(super) fn of(json: &str) -> Result<Self, CodecError> {
        serde_json::from_str(json).map_err(CodecError::Malformed)
    }

    /// What a plan says beyond a draft: that it has a name, and its revision.
    pub(super) fn into_revision(self) -> Result<(PlanDraft, u64), CodecError> {
        let revision = self.revision.ok_or(CodecError::NoRevision)?;
        match self.id {
            Some(_) => Ok((self.into_draft(), revision)),
            None => Err(CodecError::NoId),
        }
    }

    pub(super) fn into_draft(self) -> PlanDraft {
        PlanDraft {
            id: self.id,
            goal: self.goal,
            steps: self.steps,
            artifacts: self.artifacts,
            metadata: self.metadata,
        }
    }
}
