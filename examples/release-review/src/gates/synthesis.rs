//! The gate of the synthesis.

use super::error::GateError;
use crate::{
    result::VerifiedResult,
    synthesis::{Section, Synthesis, readiness},
    text::{check_line, check_prose, one_line},
};

/// The most characters of an answer that a refusal repeats.
const MAX_SHOWN: usize = 100;

/// A synthesis that agrees with the results. Its sections stand in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSynthesis(Synthesis);

impl VerifiedSynthesis {
    /// The synthesis.
    pub fn synthesis(&self) -> &Synthesis {
        &self.0
    }

    pub(crate) fn into_synthesis(self) -> Synthesis {
        self.0
    }
}

/// Checks a synthesis against the results that are there, `agents` being the specialists in the order of the plan.
///
/// # Errors
///
/// [`GateError`] with the first thing that differs.
pub fn check_synthesis(
    synthesis: Synthesis,
    agents: &[&str],
    results: &[VerifiedResult],
) -> Result<VerifiedSynthesis, GateError> {
    if results.is_empty() {
        return Err(GateError::NothingToSynthesize);
    }
    let Synthesis { title, verdict, summary, mut sections, missing } = synthesis;
    check_line(&title, Synthesis::MAX_TITLE).map_err(|reason| GateError::Text { field: "title", reason })?;
    check_prose(&summary, Synthesis::MAX_SUMMARY)
        .map_err(|reason| GateError::Text { field: "summary", reason })?;
    check_sections(&sections, results)?;
    let is_available = |agent: &str| results.iter().any(|result| result.agent() == agent);
    let expected: Vec<&str> = agents.iter().copied().filter(|agent| !is_available(agent)).collect();
    if missing != expected {
        return Err(GateError::WrongMissing {
            expected: expected.join(", "),
            found: one_line(&missing.join(", "), MAX_SHOWN),
        });
    }
    let given = readiness(agents, results);
    if verdict != given {
        return Err(GateError::WrongReadiness { expected: given, found: verdict });
    }
    sections.sort_by_key(|section| agents.iter().position(|agent| *agent == section.agent));
    Ok(VerifiedSynthesis(Synthesis { title, verdict, summary, sections, missing }))
}

fn check_sections(sections: &[Section], results: &[VerifiedResult]) -> Result<(), GateError> {
    for (index, section) in sections.iter().enumerate() {
        let agent = &section.agent;
        let expected = results.iter().find(|result| result.agent() == agent).map(VerifiedResult::id);
        if expected != Some(section.result) {
            let agent = one_line(agent, MAX_SHOWN);
            return Err(GateError::WrongResult { agent, expected, found: section.result });
        }
        if sections.iter().take(index).any(|earlier| &earlier.agent == agent) {
            return Err(GateError::RepeatedSection { agent: agent.clone() });
        }
        check_prose(&section.text, Synthesis::MAX_SECTION)
            .map_err(|reason| GateError::Text { field: "section", reason })?;
    }
    match results.iter().find(|result| !sections.iter().any(|section| section.agent == result.agent())) {
        Some(result) => Err(GateError::MissingSection { agent: result.agent().to_owned() }),
        None => Ok(()),
    }
}
