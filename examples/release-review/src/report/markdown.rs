//! `report.md`: the report for people. Everything that others wrote goes through [`escape`].

use std::fmt::{self, Write as _};

use super::{Report, ReportStatus, SpecialistReport, escape::escape};
use crate::{
    fact::{Fact, ScopedFacts, SourceLine},
    outcome::{EntryStatus, StopReason},
};

pub(super) fn render(report: &Report) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, report);
    page
}

fn write_page(page: &mut String, report: &Report) -> fmt::Result {
    match &report.synthesis.answer {
        Some(answer) => writeln!(page, "# {}\n", escape(&answer.title))?,
        None => writeln!(page, "# Release {}: not assessed\n", escape(&report.release))?,
    }
    writeln!(page, "- Release: {}", escape(&report.release))?;
    match report.readiness {
        Some(readiness) => writeln!(page, "- Readiness: **{readiness}**")?,
        None => writeln!(page, "- Readiness: not assessed")?,
    }
    writeln!(page, "- Status: {}", status(report))?;
    writeln!(page, "- Goal: {}", escape(&report.goal))?;
    writeln!(page, "- Review: `{}`, specialists in {}", report.task, report.mode)?;
    writeln!(page, "- Answered by: {}", provider(&report.provider))?;
    if let Some(answer) = &report.synthesis.answer {
        writeln!(page, "\n{}", escape(&answer.summary))?;
    }
    writeln!(page, "\n## Why\n")?;
    for specialist in &report.specialists {
        write_specialist(page, report, specialist)?;
    }
    write_missing(page, report)?;
    if !report.warnings.is_empty() {
        writeln!(page, "## Warnings\n")?;
        for warning in &report.warnings {
            writeln!(page, "- {}:{}: {}", escape(&warning.file), warning.line, escape(&warning.text))?;
        }
        writeln!(page)?;
    }
    writeln!(page, "## Sources\n")?;
    for file in &report.sources.files {
        writeln!(page, "- {}, {} bytes, SHA-256 `{}`", escape(&file.path), file.size, file.sha256)?;
    }
    Ok(())
}

fn write_specialist(page: &mut String, report: &Report, specialist: &SpecialistReport) -> fmt::Result {
    let conclusion = match specialist.verdict {
        Some(verdict) => verdict.to_string(),
        None => "no verified result".to_owned(),
    };
    writeln!(page, "### {}: {conclusion}\n", escape(&specialist.agent))?;
    if let Some(section) = section(report, &specialist.agent).or(specialist.summary.as_deref()) {
        writeln!(page, "{}\n", escape(section))?;
    }
    if let Some(scope) = report.facts.iter().find(|scope| scope.agent() == specialist.agent) {
        for citation in &specialist.citations {
            writeln!(page, "- “{}”{}", escape(&citation.quote), sources(scope, &citation.fact))?;
            write_details(page, scope, &citation.fact)?;
        }
    }
    writeln!(page, "- {}", effort(specialist.status, specialist.attempts))?;
    for error in &specialist.errors {
        writeln!(
            page,
            "- Attempt {}: {}: {}",
            error.attempt(),
            escape(error.code()),
            escape(error.message())
        )?;
    }
    if let Some(result) = specialist.result {
        writeln!(page, "- Result: `{result}`")?;
    }
    for prerequisite in &specialist.depends_on {
        writeln!(page, "- Rests on result: `{prerequisite}`")?;
    }
    writeln!(page)
}

/// The failing tests and the open defects that a fact counts.
fn write_details(page: &mut String, scope: &ScopedFacts, fact: &str) -> fmt::Result {
    let Some(fact) = find(scope, fact) else {
        return Ok(());
    };
    for list in ["failures", "defects"] {
        let named = fact.value.get(list).and_then(serde_json::Value::as_array);
        for item in named.into_iter().flatten() {
            let text = |key: &str| item.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
            let words = [text("id"), text("name"), text("title")];
            let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).map(escape).collect();
            let line = item.get("line").and_then(serde_json::Value::as_u64).unwrap_or_default();
            writeln!(page, "  - {} ({}:{line})", words.join(": "), escape(text("file")))?;
        }
    }
    Ok(())
}

fn write_missing(page: &mut String, report: &Report) -> fmt::Result {
    let without = report.specialists.iter().filter(|specialist| specialist.result.is_none());
    let mut missing = without.peekable();
    if missing.peek().is_none() && report.synthesis.errors.is_empty() {
        return Ok(());
    }
    writeln!(page, "## Missing and failed\n")?;
    for specialist in missing {
        let how = effort(specialist.status, specialist.attempts);
        writeln!(page, "- {}: {how}", escape(&specialist.agent))?;
    }
    for error in &report.synthesis.errors {
        let (code, message) = (escape(error.code()), escape(error.message()));
        writeln!(page, "- synthesis, attempt {}: {code}: {message}", error.attempt())?;
    }
    writeln!(page)
}

fn section<'a>(report: &'a Report, agent: &str) -> Option<&'a str> {
    let answer = report.synthesis.answer.as_ref()?;
    answer.sections.iter().find(|section| section.agent == agent).map(|section| section.text.as_str())
}

fn sources(scope: &ScopedFacts, fact: &str) -> String {
    let place = |source: &SourceLine| format!("{}:{}", escape(&source.file), source.line);
    let places: Vec<String> =
        find(scope, fact).map(|fact| fact.sources.iter().map(place).collect()).unwrap_or_default();
    if places.is_empty() { String::new() } else { format!(" — {}", places.join(", ")) }
}

fn find<'a>(scope: &'a ScopedFacts, fact: &str) -> Option<&'a Fact> {
    scope.facts().iter().find(|known| known.id == fact)
}

fn status(report: &Report) -> String {
    let status = match report.status {
        ReportStatus::Completed => "completed",
        ReportStatus::Partial => "partial",
    };
    let reasons: Vec<&str> = report
        .stop_reasons
        .iter()
        .map(|reason| match reason {
            StopReason::AgentFailed => "a specialist failed",
            StopReason::DependencyFailed => "a specialist could not begin",
            StopReason::InvalidSynthesis => "no synthesis passed its gate",
            StopReason::Deadline => "the deadline passed",
            StopReason::Interrupted => "it was interrupted",
        })
        .collect();
    if reasons.is_empty() {
        status.to_owned()
    } else {
        format!("{status}, because {}", reasons.join(" and "))
    }
}

fn provider(provider: &str) -> String {
    match provider {
        "offline" => "offline (deterministic readers, no model)".to_owned(),
        other => escape(other),
    }
}

fn effort(status: EntryStatus, attempts: u32) -> String {
    let word = match status {
        EntryStatus::Completed => "Completed",
        EntryStatus::Failed => "Failed",
        EntryStatus::Blocked => return "Not begun, because a prerequisite has no result".to_owned(),
        EntryStatus::Skipped => return "Not begun, because the review was stopped".to_owned(),
    };
    let noun = if attempts == 1 { "attempt" } else { "attempts" };
    format!("{word} after {attempts} {noun}")
}
