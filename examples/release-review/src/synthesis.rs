//! The synthesis: what the verified results say together.

use serde::{Deserialize, Serialize};

use crate::{
    result::{ResultId, VerifiedResult},
    verdict::{Readiness, Verdict},
};

/// A synthesis, as it came: nothing in it is believed before a gate has checked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// One line; at most [`Synthesis::MAX_TITLE`] characters.
    pub title: String,
    /// What the results give together.
    pub verdict: Readiness,
    /// Why, in prose; at most [`Synthesis::MAX_SUMMARY`] characters.
    pub summary: String,
    /// Exactly one section for each result.
    pub sections: Vec<Section>,
    /// The specialists without a result, in the order of the plan.
    pub missing: Vec<String>,
}

/// What a synthesis says about one result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The specialist.
    pub agent: String,
    /// Its result.
    pub result: ResultId,
    /// Prose; at most [`Synthesis::MAX_SECTION`] characters.
    pub text: String,
}

impl Synthesis {
    /// The most characters of a title.
    pub const MAX_TITLE: usize = 200;
    /// The most characters of a summary.
    pub const MAX_SUMMARY: usize = 2_000;
    /// The most characters of a section.
    pub const MAX_SECTION: usize = 1_500;
}

/// What the results give: incomplete if any is missing, else blocked if any is, else ready.
pub fn readiness(agents: &[&str], results: &[VerifiedResult]) -> Readiness {
    let of = |agent: &str| results.iter().find(|result| result.agent() == agent);
    let verdicts: Vec<Option<Verdict>> =
        agents.iter().map(|agent| of(agent).map(|result| result.finding().verdict)).collect();
    if verdicts.contains(&None) {
        Readiness::Incomplete
    } else if verdicts.contains(&Some(Verdict::Blocked)) {
        Readiness::Blocked
    } else {
        Readiness::Ready
    }
}

/// What the synthesis answers without a model, `agents` being the specialists in the order of the plan.
pub fn synthesize(release: &str, agents: &[&str], results: &[VerifiedResult]) -> Synthesis {
    let verdict = readiness(agents, results);
    let of = |agent: &str| results.iter().find(|result| result.agent() == agent);
    let conclusions: Vec<String> = agents
        .iter()
        .map(|agent| match of(agent) {
            Some(result) => format!("{agent}: {}", result.finding().verdict),
            None => format!("{agent}: no verified result"),
        })
        .collect();
    let sections = agents.iter().filter_map(|agent| of(agent)).map(|result| Section {
        agent: result.agent().to_owned(),
        result: result.id(),
        text: result.finding().summary.clone(),
    });
    Synthesis {
        title: format!("Release {release}: {verdict}"),
        verdict,
        summary: format!("The specialists conclude: {}.", conclusions.join("; ")),
        sections: sections.collect(),
        missing: agents.iter().filter(|agent| of(agent).is_none()).map(|agent| (*agent).to_owned()).collect(),
    }
}
