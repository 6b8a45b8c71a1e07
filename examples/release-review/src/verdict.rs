//! What a finding and a synthesis may conclude.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The conclusion of one specialist, recomputed from its facts and never taken from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing in the specialist's evidence holds the release back.
    Ready,
    /// Something does.
    Blocked,
}

/// The conclusion of the whole review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
    /// Every specialist found its evidence ready.
    Ready,
    /// Every specialist answered, and one at least found a blocker.
    Blocked,
    /// A specialist's result is missing.
    Incomplete,
}

impl Verdict {
    /// Ready if the rule holds, else blocked.
    pub(crate) fn from_rule(holds: bool) -> Self {
        if holds { Self::Ready } else { Self::Blocked }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Blocked => "blocked",
        })
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Blocked => "blocked",
            Self::Incomplete => "incomplete",
        })
    }
}
