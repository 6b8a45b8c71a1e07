//! Known defects: a CSV, a JSON list, or a GitHub issues export.

mod csv_file;
mod json_file;
mod severity;

use std::collections::HashMap;

use super::{
    error::{EvidenceError, EvidenceErrorKind},
    settings::Severities,
    source_text::source_text,
    warning::Warning,
};
use crate::{
    fact::{Fact, SourceLine},
    text::{check_line, one_line},
};

/// The most defects of one file.
const MAX_DEFECTS: u64 = 100_000;

/// The most characters of a defect's id.
const MAX_ID: usize = 200;

/// What the defects add up to.
#[derive(Debug, Clone)]
pub(crate) struct DefectCounts {
    pub(crate) total: u64,
    pub(crate) open: u64,
    pub(crate) open_critical: u64,
    /// The first of the open critical ones.
    pub(crate) listed: Vec<Defect>,
    /// The file, for a count that no single line shows.
    pub(crate) file: SourceLine,
}

/// An open critical defect.
#[derive(Debug, Clone)]
pub(crate) struct Defect {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: SourceLine,
}

/// A defect as its file states it.
#[derive(Debug)]
struct Stated {
    id: String,
    title: String,
    open: bool,
    critical: bool,
    line: u64,
}

pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    severities: &Severities,
) -> Result<(DefectCounts, Vec<Warning>), EvidenceError> {
    let text = source_text(file, bytes)?;
    let mut tally = Tally::new(file);
    let is_csv = file.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("csv"));
    let warnings = if is_csv {
        csv_file::read(file, text, severities, &mut tally)?
    } else {
        json_file::read(file, text, severities, &mut tally)?
    };
    Ok((tally.counts, warnings))
}

#[derive(Debug)]
struct Tally<'a> {
    file: &'a str,
    counts: DefectCounts,
    lines_by_id: HashMap<String, u64>,
}

impl<'a> Tally<'a> {
    fn new(file: &'a str) -> Self {
        let counts = DefectCounts {
            total: 0,
            open: 0,
            open_critical: 0,
            listed: Vec::new(),
            file: SourceLine::new(file, 1),
        };
        Self { file, counts, lines_by_id: HashMap::new() }
    }

    fn add(&mut self, defect: Stated) -> Result<(), EvidenceError> {
        let Stated { id, title, open, critical, line } = defect;
        check_line(&id, MAX_ID).map_err(|error| {
            EvidenceError::malformed(self.file, line, format!("the id of a defect {error}"))
        })?;
        if self.counts.total == MAX_DEFECTS {
            let reason = format!("holds more than {MAX_DEFECTS} defects: leave out the closed ones");
            return Err(EvidenceError::at(EvidenceErrorKind::Limit, self.file, line, reason));
        }
        if let Some(first) = self.lines_by_id.insert(id.clone(), line) {
            let reason = format!("defect `{id}` stands on line {first} already: keep one of them");
            return Err(EvidenceError::malformed(self.file, line, reason));
        }
        self.counts.total += 1;
        self.counts.open += u64::from(open);
        if open && critical {
            self.counts.open_critical += 1;
            if self.counts.listed.len() < Fact::MAX_LISTED {
                let source = SourceLine::new(self.file, line);
                self.counts.listed.push(Defect { id, title: one_line(&title, 200), source });
            }
        }
        Ok(())
    }
}
