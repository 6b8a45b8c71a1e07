//! Who is on call, and when.

mod calendar;
mod content_line;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use self::calendar::read as read_calendar;
use super::{error::EvidenceError, json::JsonFile, source_text::source_text};
use crate::{
    fact::{Fact, SourceLine},
    text::{check_name, one_line},
};

/// The most characters of a person's name.
const MAX_WHO: usize = 200;

/// What the evidence says about who is on call.
#[derive(Debug, Clone)]
pub(crate) enum Rota {
    /// A bare statement, judged at no moment.
    Stated { on_call: bool, source: SourceLine },
    /// Shifts, judged at one moment.
    Shifts { shifts: Vec<Shift>, file: SourceLine },
}

/// One person's time on call, from its first moment up to and without its last.
#[derive(Debug, Clone)]
pub(crate) struct Shift {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) who: String,
    pub(crate) source: SourceLine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RotaFile<'a> {
    #[serde(borrow)]
    shifts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShiftEntry {
    who: String,
    from: Timestamp,
    until: Timestamp,
}

impl Rota {
    /// The shifts that cover the moment, at most as many as a fact lists.
    pub(crate) fn on_call_at(&self, moment: Timestamp) -> Vec<&Shift> {
        match self {
            Self::Stated { .. } => Vec::new(),
            Self::Shifts { shifts, .. } => shifts
                .iter()
                .filter(|shift| shift.from <= moment && moment < shift.until)
                .take(Fact::MAX_LISTED)
                .collect(),
        }
    }
}

/// Reads `oncall.json`: `{ "shifts": [{ "who": "..", "from": "..", "until": ".." }] }` with RFC 3339 times.
pub(crate) fn read_json(file: &str, bytes: &[u8]) -> Result<Rota, EvidenceError> {
    let mut json = JsonFile::new(file, source_text(file, bytes)?);
    let rota: RotaFile<'_> = json.parse()?;
    let mut shifts = Vec::new();
    for element in rota.shifts {
        let entry: ShiftEntry = json.parse_part(element)?;
        let line = json.line(element);
        shifts.push(shift(file, line, &entry.who, entry.from, entry.until)?);
    }
    Ok(Rota::Shifts { shifts, file: SourceLine::new(file, 1) })
}

fn shift(
    file: &str,
    line: u64,
    who: &str,
    from: Timestamp,
    until: Timestamp,
) -> Result<Shift, EvidenceError> {
    check_name(who, MAX_WHO).map_err(|error| {
        EvidenceError::malformed(file, line, format!("the name of who is on call {error}"))
    })?;
    if until <= from {
        return Err(EvidenceError::malformed(file, line, "the shift ends before it begins"));
    }
    Ok(Shift { from, until, who: one_line(who, MAX_WHO), source: SourceLine::new(file, line) })
}
