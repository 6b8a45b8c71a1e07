//! Which gate refused an answer, and what it expected.

use crate::{
    result::ResultId,
    text::TextError,
    verdict::{Readiness, Verdict},
};

/// Why an answer was refused. The message says what was expected, so that it can go back to whoever answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The finding is another agent's.
    #[error("the finding says it is from agent `{found}`: expected `{expected}`")]
    WrongAgent {
        /// Who was asked.
        expected: String,
        /// Who claims to answer.
        found: String,
    },
    /// The finding answers another review.
    #[error("the finding answers task `{found}`: expected `{expected}`")]
    WrongTask {
        /// The review.
        expected: String,
        /// The review that is answered.
        found: String,
    },
    /// The finding is about another release.
    #[error("the finding is about release `{found}`: expected `{expected}`")]
    WrongRelease {
        /// The release under review.
        expected: String,
        /// The release of the finding.
        found: String,
    },
    /// The verdict is not what the evidence gives.
    #[error("the finding says `{found}`: its evidence gives `{expected}`")]
    FlippedVerdict {
        /// What the facts give.
        expected: Verdict,
        /// What the finding says.
        found: Verdict,
    },
    /// A fact that the agent was not given.
    #[error("the finding cites `{fact}`, which is not among its facts: expected {expected}")]
    ForeignFact {
        /// The fact that is cited.
        fact: String,
        /// The agent's facts.
        expected: String,
    },
    /// A quote that is not the fact's text.
    #[error("the quote of fact `{fact}` is not its text, byte for byte: expected `{expected}`")]
    ForgedQuote {
        /// The fact.
        fact: String,
        /// Its text.
        expected: String,
    },
    /// A fact that is quoted more than once.
    #[error("fact `{fact}` is cited more than once: cite each once")]
    RepeatedQuote {
        /// The fact.
        fact: String,
    },
    /// A fact that is not quoted.
    #[error("fact `{fact}` is not cited: cite all of the facts")]
    MissingFact {
        /// The fact.
        fact: String,
    },
    /// A text that is blank, too long or has hidden characters.
    #[error("the {field} {reason}")]
    Text {
        /// Which text.
        field: &'static str,
        /// What is wrong with it.
        reason: TextError,
    },
    /// A section about a result that is not there.
    #[error("the section of `{agent}` names result `{found}`: {}", expected_result(.expected.as_ref()))]
    WrongResult {
        /// The agent of the section.
        agent: String,
        /// The result that is there.
        expected: Option<ResultId>,
        /// The result of the section.
        found: ResultId,
    },
    /// More than one section about one agent.
    #[error("`{agent}` has more than one section: write exactly one for each result")]
    RepeatedSection {
        /// The agent.
        agent: String,
    },
    /// A result without a section.
    #[error("the result of `{agent}` has no section: write exactly one for each result")]
    MissingSection {
        /// The agent.
        agent: String,
    },
    /// A wrong list of what is missing.
    #[error("the list of missing agents is [{found}]: expected [{expected}]")]
    WrongMissing {
        /// The agents without a result.
        expected: String,
        /// The list.
        found: String,
    },
    /// A conclusion that the results do not give.
    #[error("the synthesis says `{found}`: the results give `{expected}`")]
    WrongReadiness {
        /// What the results give.
        expected: Readiness,
        /// What the synthesis says.
        found: Readiness,
    },
    /// There is no result to put together.
    #[error("there is no result to put together")]
    NothingToSynthesize,
}

impl GateError {
    /// A stable word for the reason, for reports and programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::WrongAgent { .. } => "wrong-agent",
            Self::WrongTask { .. } => "wrong-task",
            Self::WrongRelease { .. } => "wrong-release",
            Self::FlippedVerdict { .. } => "flipped-verdict",
            Self::ForeignFact { .. } => "foreign-fact",
            Self::ForgedQuote { .. } => "forged-quote",
            Self::RepeatedQuote { .. } => "repeated-quote",
            Self::MissingFact { .. } => "missing-fact",
            Self::Text { .. } => "invalid-text",
            Self::WrongResult { .. } => "wrong-result",
            Self::RepeatedSection { .. } => "repeated-section",
            Self::MissingSection { .. } => "missing-section",
            Self::WrongMissing { .. } => "wrong-missing",
            Self::WrongReadiness { .. } => "wrong-readiness",
            Self::NothingToSynthesize => "nothing-to-synthesize",
        }
    }

    /// What was expected, for a report: it quotes the evidence and the results, and no word of the answer.
    pub fn expectation(&self) -> String {
        match self {
            Self::WrongAgent { expected, .. } => format!("the finding is not from agent `{expected}`"),
            Self::WrongTask { expected, .. } => format!("the finding does not answer task `{expected}`"),
            Self::WrongRelease { expected, .. } => format!("the finding is not about release `{expected}`"),
            Self::ForeignFact { expected, .. } => {
                format!("the finding cites what is not among its facts: expected {expected}")
            }
            Self::WrongResult { agent, expected: Some(expected), .. } => {
                format!("the section of `{agent}` names another result: expected `{expected}`")
            }
            Self::WrongResult { expected: None, .. } => {
                "a section is about an agent that has no result".to_owned()
            }
            Self::WrongMissing { expected, .. } => {
                format!("the list of missing agents is wrong: expected [{expected}]")
            }
            // These name what is known, and verdicts.
            Self::FlippedVerdict { .. }
            | Self::ForgedQuote { .. }
            | Self::RepeatedQuote { .. }
            | Self::MissingFact { .. }
            | Self::Text { .. }
            | Self::RepeatedSection { .. }
            | Self::MissingSection { .. }
            | Self::WrongReadiness { .. }
            | Self::NothingToSynthesize => self.to_string(),
        }
    }
}

fn expected_result(expected: Option<&ResultId>) -> String {
    expected.map_or_else(|| "it has none".to_owned(), |id| format!("expected `{id}`"))
}
