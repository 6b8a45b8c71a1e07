//! What a specialist answers.

use serde::{Deserialize, Serialize};

use crate::{name::Name, verdict::Verdict};

/// A specialist's answer, as it came: nothing in it is believed before a gate has checked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The specialist that answers.
    pub agent: String,
    /// The review that it answers.
    pub task: Name,
    /// The release that it looked at.
    pub release: String,
    /// What it concludes.
    pub verdict: Verdict,
    /// Why, in prose; at most [`Finding::MAX_SUMMARY`] characters.
    pub summary: String,
    /// The facts that it rests on.
    pub citations: Vec<Citation>,
}

/// A quote of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The fact's id.
    pub fact: String,
    /// The fact's text, byte for byte.
    pub quote: String,
}

impl Finding {
    /// The most characters of a summary.
    pub const MAX_SUMMARY: usize = 1_500;
}
