//! Who takes part, and what speaks against a consensus before anybody is asked.

use std::collections::BTreeSet;

use convoke_core::{AgentId, ErrorCode, TaskError};
use convoke_registry::TeamHandle;

use crate::{Agreement, Basis, ConsensusRequest, Counting, Decide, Resolver as _, guard::guarded};

/// The participants by id, once nothing speaks against them.
pub(crate) fn eligible(request: &ConsensusRequest, team: &TeamHandle) -> Result<Vec<AgentId>, TaskError> {
    // First, since without the one that is no id there may be none, which means all.
    if let Some(defect) = &request.defect {
        return Err(invalid(format!("participant: {defect}")));
    }
    let participants =
        if request.participants.is_empty() { available(request, team)? } else { named(request)? };
    let defect = defect(request, &participants, team)?;
    defect.map_or(Ok(participants), |text| Err(invalid(text)))
}

fn invalid(text: String) -> TaskError {
    TaskError::new(ErrorCode::InvalidRequest, text)
}

/// Every available agent that has the skills, by id.
fn available(request: &ConsensusRequest, team: &TeamHandle) -> Result<Vec<AgentId>, TaskError> {
    let skills = &request.task.required_skills;
    let available = team.find_available(skills);
    if !available.is_empty() {
        return Ok(available);
    }
    let able = team.find_agents(skills).len();
    if able == 0 {
        // Asked again only here, where nobody is there to be asked.
        let (code, text) = if team.find_agents(&[]).is_empty() {
            (ErrorCode::AgentNotFound, "no agent is registered; add the participants first".to_owned())
        } else {
            let skills: Vec<_> = skills.iter().map(|skill| format!("`{skill}`")).collect();
            let text = format!("no agent has {}; register one, or require less", skills.join(" and "));
            (ErrorCode::CapabilityNotFound, text)
        };
        return Err(TaskError::new(code, text));
    }
    let text = format!("no agent that could take part is available, of {able}; wait for one");
    Err(TaskError::new(ErrorCode::AgentUnavailable, text))
}

/// The agents that the request names.
fn named(request: &ConsensusRequest) -> Result<Vec<AgentId>, TaskError> {
    let mut participants = BTreeSet::new();
    match request.participants.iter().find(|agent| !participants.insert(*agent)) {
        Some(twice) => Err(invalid(format!("participant `{twice}` is named twice; it has one vote"))),
        None => Ok(participants.into_iter().cloned().collect()),
    }
}

/// What is wrong with the request, given who takes part.
fn defect(
    request: &ConsensusRequest,
    participants: &[AgentId],
    team: &TeamHandle,
) -> Result<Option<String>, TaskError> {
    let count = participants.len();
    let minimum = request.minimum_successful_agents;
    if minimum == 0 {
        return Ok(Some("minimum of successful agents is 0; ask for 1 or more".into()));
    }
    if minimum > count {
        return Ok(Some(format!(
            "minimum of successful agents is {minimum}, and {count} can be asked; ask for fewer, or name more"
        )));
    }
    if let Some(agent) = &request.task.preferred_agent {
        return Ok(Some(format!(
            "task prefers agent `{agent}`, but each participant is asked; name the participants"
        )));
    }
    if request.task.resume.is_some() {
        return Ok(Some("task answers a pause, but a consensus never pauses; leave the answer out".into()));
    }
    let (check, counting) =
        guarded(|| (request.resolver.check(participants, team), request.resolver.counting()))?;
    if let Err(text) = check {
        return Ok(Some(text.into_owned()));
    }
    match counting {
        None => Ok(uncounted(request)),
        Some(counting) => guarded(|| unreachable_agreement(request, &counting, participants)),
    }
}

/// What makes no sense for a resolver that counts nothing.
fn uncounted(request: &ConsensusRequest) -> Option<String> {
    if request.decide == Decide::Early {
        return Some("resolver cannot decide early; decide after all, or use one that counts".into());
    }
    let is_plain = request.agreement == Agreement::default() && request.basis == Basis::default();
    let text = "resolver decides by a rule of its own; leave agreement and basis as they are, or use one that counts";
    (!is_plain).then(|| text.into())
}

/// How many votes are asked for although there are no so many.
fn unreachable_agreement(
    request: &ConsensusRequest,
    counting: &Counting,
    participants: &[AgentId],
) -> Option<String> {
    let Agreement::AtLeast(least) = request.agreement else { return None };
    if least == 0 {
        return Some("agreement of at least 0 is none; ask for 1 or more".into());
    }
    let all: u64 = participants.iter().map(|agent| u64::from(counting.weight(agent))).sum();
    (least > all)
        .then(|| format!("agreement asks for {least} votes, but all participants have {all}; ask for fewer"))
}
