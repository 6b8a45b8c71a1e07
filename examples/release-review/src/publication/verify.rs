//! From the outcome that a driver states to the report that its files prove.

use super::PublishError;
use crate::{
    gates::check_synthesis,
    outcome::{AttemptError, Entry, EntryStatus, Outcome, SynthesisEntry},
    report::{Report, ReportStatus, SourcesReport, SpecialistReport, SynthesisReport},
    result::{ResultId, VerifiedResult},
    roles,
    synthesis::Synthesis,
    task::TaskDirectory,
};

pub(super) fn verify(task: &TaskDirectory, outcome: &Outcome) -> Result<Report, PublishError> {
    let agents: Vec<&str> = task.facts().agents().collect();
    let entries = in_plan_order(&agents, &outcome.entries)?;
    let mut results = Vec::new();
    for entry in &entries {
        results.extend(check_entry(task, entry, &entries, outcome)?);
    }
    let answer = check_answer(&agents, &results, outcome)?;
    let is_complete = answer.is_some() && results.len() == agents.len();
    let ordered =
        Outcome { entries: entries.iter().map(|entry| (*entry).clone()).collect(), ..outcome.clone() };
    let request = task.request();
    Ok(Report {
        format: Report::FORMAT,
        task: request.id().to_string(),
        request: task.request_digest(),
        release: request.release().to_owned(),
        goal: request.goal().to_owned(),
        mode: request.mode(),
        provider: outcome.provider.clone(),
        status: if is_complete { ReportStatus::Completed } else { ReportStatus::Partial },
        readiness: answer.as_ref().map(|answer| answer.verdict),
        stop_reasons: ordered.stop_reasons(),
        specialists: entries.iter().map(|entry| specialist(entry, &results)).collect(),
        synthesis: SynthesisReport {
            attempts: outcome.synthesis.attempts,
            errors: outcome.synthesis.errors.clone(),
            answer,
        },
        sources: SourcesReport { digest: request.source_digest(), files: task.files().to_vec() },
        facts: task.facts().iter().cloned().collect(),
        warnings: task.warnings().to_vec(),
    })
}

/// Exactly one entry for each specialist, in the order of the plan.
fn in_plan_order<'a>(agents: &[&str], entries: &'a [Entry]) -> Result<Vec<&'a Entry>, PublishError> {
    if let Some(entry) = entries.iter().find(|entry| !agents.contains(&entry.agent.as_str())) {
        return Err(PublishError::ForeignEntry { agent: entry.agent.clone() });
    }
    agents
        .iter()
        .map(|agent| {
            let mut own = entries.iter().filter(|entry| entry.agent == *agent);
            match (own.next(), own.next()) {
                (Some(entry), None) => Ok(entry),
                (Some(_), Some(_)) => Err(PublishError::RepeatedEntry { agent: (*agent).to_owned() }),
                (None, _) => Err(PublishError::MissingEntry { agent: (*agent).to_owned() }),
            }
        })
        .collect()
}

fn check_entry(
    task: &TaskDirectory,
    entry: &Entry,
    entries: &[&Entry],
    outcome: &Outcome,
) -> Result<Option<VerifiedResult>, PublishError> {
    let agent = &entry.agent;
    let refuse = |reason| Err(PublishError::InconsistentEntry { agent: agent.clone(), reason });
    let prerequisites: Vec<Option<ResultId>> = roles::prerequisites(agent, task.request().mode())
        .iter()
        .map(|name| entries.iter().find(|other| other.agent == *name).and_then(|other| other.result))
        .collect();
    let asked = entry.attempts > 0 || !entry.errors.is_empty();
    match (entry.status, entry.result) {
        (EntryStatus::Completed, None) => refuse("it is completed without a result"),
        (EntryStatus::Failed | EntryStatus::Blocked | EntryStatus::Skipped, Some(_)) => {
            refuse("it has a result and is not completed")
        }
        (EntryStatus::Completed, Some(id)) => {
            if !is_consistent(entry.attempts, &entry.errors, true) {
                return refuse("its attempts do not fit its errors");
            }
            let result = task.results().read(id)?;
            if result.agent() != agent {
                return Err(PublishError::WrongAgent {
                    agent: agent.clone(),
                    found: result.agent().to_owned(),
                });
            }
            let published: Vec<Option<ResultId>> = result.depends_on().iter().copied().map(Some).collect();
            if published != prerequisites {
                return Err(PublishError::WrongLineage { agent: agent.clone() });
            }
            Ok(Some(result))
        }
        (EntryStatus::Failed, None) if !is_consistent(entry.attempts, &entry.errors, false) => {
            refuse("its attempts do not fit its errors")
        }
        (EntryStatus::Failed, None) if prerequisites.iter().any(Option::is_none) => {
            refuse("it was begun, but a prerequisite has no result")
        }
        (EntryStatus::Blocked, None) if prerequisites.iter().all(Option::is_some) => {
            refuse("it is blocked, but every prerequisite has a result")
        }
        (EntryStatus::Blocked | EntryStatus::Skipped, None) if asked => {
            refuse("it was not begun, but has attempts")
        }
        (EntryStatus::Skipped, None) if outcome.stopped.is_empty() => {
            refuse("it was not begun, but nothing stopped the review")
        }
        (EntryStatus::Failed | EntryStatus::Blocked | EntryStatus::Skipped, None) => Ok(None),
    }
}

fn check_answer(
    agents: &[&str],
    results: &[VerifiedResult],
    outcome: &Outcome,
) -> Result<Option<Synthesis>, PublishError> {
    let SynthesisEntry { attempts, errors, synthesis } = &outcome.synthesis;
    if results.is_empty() {
        let untouched = synthesis.is_none() && *attempts == 0 && errors.is_empty();
        return if untouched { Ok(None) } else { Err(PublishError::UnexpectedSynthesis) };
    }
    let inconsistent = PublishError::InconsistentSynthesis { attempts: *attempts, errors: errors.len() };
    match synthesis {
        Some(_) if !is_consistent(*attempts, errors, true) => Err(inconsistent),
        Some(synthesis) => {
            let checked = check_synthesis(synthesis.clone(), agents, results)?;
            Ok(Some(checked.into_synthesis()))
        }
        None if *attempts == 0 && errors.is_empty() => {
            if outcome.stopped.is_empty() {
                Err(PublishError::MissingSynthesis)
            } else {
                Ok(None)
            }
        }
        None if !is_consistent(*attempts, errors, false) => Err(inconsistent),
        None => Ok(None),
    }
}

/// Every attempt but a successful last one has exactly one error, and they stand in order.
fn is_consistent(attempts: u32, errors: &[AttemptError], succeeded: bool) -> bool {
    let failed = attempts.checked_sub(u32::from(succeeded));
    let in_order = (1..).zip(errors).all(|(attempt, error)| error.attempt() == attempt);
    attempts > 0 && in_order && failed.is_some_and(|failed| usize::try_from(failed) == Ok(errors.len()))
}

fn specialist(entry: &Entry, results: &[VerifiedResult]) -> SpecialistReport {
    let result = results.iter().find(|result| Some(result.id()) == entry.result);
    SpecialistReport {
        agent: entry.agent.clone(),
        status: entry.status,
        attempts: entry.attempts,
        errors: entry.errors.clone(),
        result: entry.result,
        depends_on: result.map(|result| result.depends_on().to_vec()).unwrap_or_default(),
        verdict: result.map(|result| result.finding().verdict),
        summary: result.map(|result| result.finding().summary.clone()),
        citations: result.map(|result| result.finding().citations.clone()).unwrap_or_default(),
    }
}
