//! The gate of a specialist's finding.

use std::collections::HashMap;

use super::error::GateError;
use crate::{
    fact::ScopedFacts,
    finding::{Citation, Finding},
    name::Name,
    text::{check_prose, one_line},
};

/// The most characters of an answer that a refusal repeats.
const MAX_SHOWN: usize = 100;

/// A finding that agrees with the evidence. Its citations stand in the order of the facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFinding(Finding);

impl VerifiedFinding {
    /// The finding.
    pub fn finding(&self) -> &Finding {
        &self.0
    }

    pub(crate) fn into_finding(self) -> Finding {
        self.0
    }
}

/// Checks a finding against the facts that its agent was given.
///
/// The citations may come in any order and are put into that of the facts, so that the same answer is the same
/// result.
///
/// # Errors
///
/// [`GateError`] with the first thing that differs.
pub fn check_finding(
    finding: Finding,
    task: &Name,
    scope: &ScopedFacts,
) -> Result<VerifiedFinding, GateError> {
    let Finding { agent, task: found_task, release, verdict, summary, citations } = finding;
    if agent != scope.agent() {
        return Err(GateError::WrongAgent {
            expected: scope.agent().to_owned(),
            found: one_line(&agent, MAX_SHOWN),
        });
    }
    if &found_task != task {
        return Err(GateError::WrongTask { expected: task.to_string(), found: found_task.to_string() });
    }
    if release != scope.release() {
        return Err(GateError::WrongRelease {
            expected: scope.release().to_owned(),
            found: one_line(&release, MAX_SHOWN),
        });
    }
    if verdict != scope.verdict() {
        return Err(GateError::FlippedVerdict { expected: scope.verdict(), found: verdict });
    }
    check_prose(&summary, Finding::MAX_SUMMARY)
        .map_err(|reason| GateError::Text { field: "summary", reason })?;
    let citations = check_citations(citations, scope)?;
    Ok(VerifiedFinding(Finding { agent, task: found_task, release, verdict, summary, citations }))
}

fn check_citations(citations: Vec<Citation>, scope: &ScopedFacts) -> Result<Vec<Citation>, GateError> {
    let mut quotes = HashMap::new();
    for Citation { fact, quote } in citations {
        let Some(known) = scope.facts().iter().find(|known| known.id == fact) else {
            let ids: Vec<&str> = scope.facts().iter().map(|known| known.id.as_str()).collect();
            let fact = one_line(&fact, MAX_SHOWN);
            return Err(GateError::ForeignFact { fact, expected: ids.join(", ") });
        };
        if quote != known.text {
            return Err(GateError::ForgedQuote { fact, expected: known.text.clone() });
        }
        if quotes.insert(known.id.as_str(), quote).is_some() {
            return Err(GateError::RepeatedQuote { fact });
        }
    }
    scope
        .facts()
        .iter()
        .map(|fact| match quotes.remove(fact.id.as_str()) {
            Some(quote) => Ok(Citation { fact: fact.id.clone(), quote }),
            None => Err(GateError::MissingFact { fact: fact.id.clone() }),
        })
        .collect()
}
