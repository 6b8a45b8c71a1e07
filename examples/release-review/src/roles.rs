//! The specialists: who may see what, after whom, and what a deterministic reader answers.

mod engineering;
mod operations;

use jiff::Timestamp;

use crate::{
    evidence::{Measurements, Settings},
    fact::{Facts, ScopedFacts},
    finding::{Citation, Finding},
    mode::Mode,
    name::Name,
};

/// The specialist for tests and critical defects.
pub const ENGINEERING: &str = "engineering";

/// The specialist for rollback and on-call.
pub const OPERATIONS: &str = "operations";

/// The agent that puts the verified results together.
pub const SYNTHESIS: &str = "synthesis";

/// The specialists whose verified results this one may see, and without which it does not run.
pub fn prerequisites(agent: &str, mode: Mode) -> &'static [&'static str] {
    match (agent, mode) {
        (OPERATIONS, Mode::Serial) => &[ENGINEERING],
        _ => &[],
    }
}

/// What engineering answers without a model: every fact quoted, and the verdict that they give.
pub fn engineering(task: &Name, scope: &ScopedFacts) -> Finding {
    let outlook = "The tests and the open critical defects decide.";
    quote_everything(task, scope, outlook)
}

/// What operations answers without a model: every fact quoted, and the verdict that they give.
pub fn operations(task: &Name, scope: &ScopedFacts) -> Finding {
    let outlook = "The way back and the people on call decide.";
    quote_everything(task, scope, outlook)
}

/// The facts of every specialist, in the order of the plan.
pub(crate) fn facts(settings: &Settings, measured: &Measurements, created_at: Timestamp) -> Facts {
    let engineering = engineering::facts(&measured.tests, &measured.defects, settings.thresholds());
    let moment = settings.release_at();
    let operations = operations::facts(&measured.rollback, &measured.rota, moment, created_at);
    let scope = |agent: &str, (facts, verdict)| ScopedFacts {
        agent: agent.to_owned(),
        release: settings.release().to_owned(),
        verdict,
        facts,
    };
    Facts { scopes: vec![scope(ENGINEERING, engineering), scope(OPERATIONS, operations)] }
}

fn quote_everything(task: &Name, scope: &ScopedFacts, outlook: &str) -> Finding {
    let citations = scope
        .facts()
        .iter()
        .map(|fact| Citation { fact: fact.id.clone(), quote: fact.text.clone() })
        .collect();
    Finding {
        agent: scope.agent().to_owned(),
        task: task.clone(),
        release: scope.release().to_owned(),
        verdict: scope.verdict(),
        summary: format!("{outlook} By its evidence the release is {}.", scope.verdict()),
        citations,
    }
}
