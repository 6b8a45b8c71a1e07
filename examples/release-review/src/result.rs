//! Results: findings that passed their gate, kept under the digest of their own bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{digest::Digest, finding::Finding};

/// The id of a result: the digest of its record's canonical bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultId(Digest);

/// What is written for a result. The digest of its canonical JSON is its id and its file name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultRecord {
    /// The version of this form.
    pub format: u32,
    /// The digest of the request that it answers.
    pub request: Digest,
    /// The finding, with its citations in the order of the facts.
    pub finding: Finding,
    /// The results that the specialist saw, in the order of the plan.
    pub depends_on: Vec<ResultId>,
}

/// A result whose bytes, request, finding and prerequisites were checked just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedResult {
    pub(crate) id: ResultId,
    pub(crate) record: ResultRecord,
}

impl ResultId {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Digest::of(bytes))
    }

    /// The digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

impl From<Digest> for ResultId {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

impl fmt::Display for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ResultRecord {
    /// The version that this program writes and reads.
    pub const FORMAT: u32 = 1;
}

impl VerifiedResult {
    /// The result's id.
    pub fn id(&self) -> ResultId {
        self.id
    }

    /// The specialist.
    pub fn agent(&self) -> &str {
        &self.record.finding.agent
    }

    /// The finding.
    pub fn finding(&self) -> &Finding {
        &self.record.finding
    }

    /// The results that the specialist saw.
    pub fn depends_on(&self) -> &[ResultId] {
        &self.record.depends_on
    }

    /// The whole record, for a specialist that runs after this one.
    pub fn record(&self) -> &ResultRecord {
        &self.record
    }
}
