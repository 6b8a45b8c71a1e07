//! What is known of few steps.

use std::sync::Arc;

use convoke_core::{Metadata, TaskOutput};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::machine::{
    event::{Finding, Question},
    gate::RequestId,
    ledger::is_unset,
};

/// What few steps have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::machine) struct Notes {
    /// The output that a reflector is to look at.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) worked: Option<Arc<TaskOutput>>,
    /// The gate that is open.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) gate: Option<RequestId>,
    /// Whether the hook was asked before the gate opened.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) hook_asked: bool,
    /// The request that was approved, which holds for its attempt.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) approved: Option<RequestId>,
    /// What whoever approved attached.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) approval: Metadata,
    /// What the step asked.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) question: Option<Question>,
    /// What it was answered.
    #[serde(skip_serializing_if = "is_unset", deserialize_with = "present")]
    pub(in crate::machine) answer: Option<Value>,
    /// What the reflector said of the output that stands, where it is not that of the executor.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) finding: Option<Finding>,
    /// What the reflector noted.
    #[serde(skip_serializing_if = "is_unset")]
    pub(in crate::machine) review: Option<Arc<str>>,
}

/// An answer that is `null` is an answer.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
