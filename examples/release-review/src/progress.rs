//! How far a review is, for whoever watches it.

use serde::Serialize;

use crate::verdict::{Readiness, Verdict};

/// How far a review is: one thing that has just happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Progress {
    /// An agent has begun.
    Started {
        /// The agent.
        agent: String,
    },
    /// A specialist's finding passed its gate and is saved.
    Verified {
        /// The agent.
        agent: String,
        /// What its facts give.
        verdict: Verdict,
    },
    /// The synthesis passed its gate.
    Synthesized {
        /// What the results give together.
        readiness: Readiness,
    },
    /// An agent gave no usable answer.
    Failed {
        /// The agent.
        agent: String,
        /// Why, in one line.
        reason: String,
    },
    /// An agent was not begun.
    NotBegun {
        /// The agent.
        agent: String,
        /// Why, in one line.
        reason: String,
    },
}

impl Progress {
    /// The agent that it is about.
    pub fn agent(&self) -> &str {
        match self {
            Self::Started { agent }
            | Self::Verified { agent, .. }
            | Self::Failed { agent, .. }
            | Self::NotBegun { agent, .. } => agent,
            Self::Synthesized { .. } => crate::roles::SYNTHESIS,
        }
    }
}
