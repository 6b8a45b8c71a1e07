//! `sources.json`: the whole evidence in one file, for a team whose numbers come from elsewhere.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Measurements, SINGLE_FILE,
    defects::DefectCounts,
    error::EvidenceError,
    json::JsonFile,
    junit::TestCounts,
    rollback::Rollback,
    rota::Rota,
    settings::{MAX_RELEASE, Settings},
    source_text::source_text,
};
use crate::{fact::SourceLine, text::check_line};

/// The most tests and the most defects that the form can state.
const MAX_TESTS: u64 = 100_000;
const MAX_CRITICAL: u64 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources<'a> {
    #[serde(borrow)]
    release: &'a RawValue,
    engineering: Engineering<'a>,
    operations: Operations<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Engineering<'a> {
    #[serde(borrow)]
    total: &'a RawValue,
    #[serde(borrow)]
    passed: &'a RawValue,
    #[serde(borrow)]
    critical_open: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operations<'a> {
    #[serde(borrow)]
    rollback: &'a RawValue,
    #[serde(borrow)]
    on_call: &'a RawValue,
}

pub(super) fn read(bytes: &[u8]) -> Result<(Settings, Measurements), EvidenceError> {
    let file = SINGLE_FILE;
    let mut json = JsonFile::new(file, source_text(file, bytes)?);
    let sources: Sources<'_> = json.parse()?;

    let release: String = json.parse_part(sources.release)?;
    let release_line = json.line(sources.release);
    check_line(&release, MAX_RELEASE)
        .map_err(|error| EvidenceError::malformed(file, release_line, format!("`release` {error}")))?;

    let total = count(&mut json, sources.engineering.total, "total", 1, MAX_TESTS)?;
    let passed = count(&mut json, sources.engineering.passed, "passed", 0, total)?;
    let critical = count(&mut json, sources.engineering.critical_open, "critical_open", 0, MAX_CRITICAL)?;
    let tests = TestCounts {
        total,
        passed,
        failed: total - passed,
        roots: vec![SourceLine::new(file, json.line(sources.engineering.passed))],
        ..TestCounts::default()
    };
    let defects = DefectCounts {
        total: critical,
        open: critical,
        open_critical: critical,
        listed: Vec::new(),
        file: SourceLine::new(file, json.line(sources.engineering.critical_open)),
    };
    let rollback = Rollback {
        available: json.parse_part(sources.operations.rollback)?,
        steps: None,
        source: SourceLine::new(file, json.line(sources.operations.rollback)),
    };
    let rota = Rota::Stated {
        on_call: json.parse_part(sources.operations.on_call)?,
        source: SourceLine::new(file, json.line(sources.operations.on_call)),
    };
    Ok((Settings::for_release(release), Measurements { tests, defects, rollback, rota }))
}

fn count<'a>(
    json: &mut JsonFile<'a>,
    part: &'a RawValue,
    name: &str,
    least: u64,
    most: u64,
) -> Result<u64, EvidenceError> {
    let value: u64 = json.parse_part(part)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let line = json.line(part);
    Err(EvidenceError::malformed(
        SINGLE_FILE,
        line,
        format!("`{name}` is {value}, it must be {least} to {most}"),
    ))
}
