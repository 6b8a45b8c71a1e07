//! Operations' rule: ready if and only if there is a way back and somebody is on call.

use jiff::Timestamp;
use serde_json::json;

use crate::{
    evidence::{Rollback, Rota},
    fact::{Fact, SourceLine},
    verdict::Verdict,
};

pub(super) fn facts(
    rollback: &Rollback,
    rota: &Rota,
    release_at: Option<Timestamp>,
    created_at: Timestamp,
) -> (Vec<Fact>, Verdict) {
    let (on_call, on_call_fact) = on_call(rota, release_at, created_at);
    let facts = vec![rollback_fact(rollback), on_call_fact];
    (facts, Verdict::from_rule(rollback.available && on_call))
}

fn rollback_fact(rollback: &Rollback) -> Fact {
    let text = match rollback.steps {
        None if rollback.available => "rollback is available".to_owned(),
        None => "rollback is not available".to_owned(),
        Some(0) => "the runbook lists no rollback steps".to_owned(),
        Some(1) => "the runbook lists 1 rollback step".to_owned(),
        Some(steps) => format!("the runbook lists {steps} rollback steps"),
    };
    let value = json!({ "available": rollback.available, "steps": rollback.steps });
    Fact { id: "rollback".to_owned(), text, value, sources: vec![rollback.source.clone()] }
}

fn on_call(rota: &Rota, release_at: Option<Timestamp>, created_at: Timestamp) -> (bool, Fact) {
    let (covered, text, value, sources) = match rota {
        Rota::Stated { on_call, source } => {
            let text = if *on_call { "somebody is on call" } else { "nobody is on call" };
            (*on_call, text.to_owned(), json!({ "on_call": on_call }), vec![source.clone()])
        }
        Rota::Shifts { file, .. } => {
            let shifts = rota.on_call_at(release_at.unwrap_or(created_at));
            let covered = !shifts.is_empty();
            let subject = if covered { "somebody" } else { "nobody" };
            // The time of creation stays out: equal evidence has to give equal facts.
            let moment = release_at.map_or("when the review was created".to_owned(), |at| format!("at {at}"));
            let who: Vec<&str> = shifts.iter().map(|shift| shift.who.as_str()).collect();
            let value = json!({ "on_call": covered, "release_at": release_at, "who": who });
            let lines: Vec<SourceLine> = shifts.iter().map(|shift| shift.source.clone()).collect();
            let sources = if covered { lines } else { vec![file.clone()] };
            (covered, format!("{subject} is on call {moment}"), value, sources)
        }
    };
    (covered, Fact { id: "on-call".to_owned(), text, value, sources })
}
