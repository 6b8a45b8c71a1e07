//! Defects as CSV with the columns `id`, `severity`, `status` and, if wanted, `title`; others are not read.

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord};

use super::severity::{is_critical, is_open};
use super::{Stated, Tally};
use crate::evidence::error::EvidenceError;
use crate::evidence::lines::Lines;
use crate::evidence::settings::Severities;

pub(super) fn read(
    file: &str,
    text: &str,
    severities: &Severities,
    tally: &mut Tally<'_>,
) -> Result<(), EvidenceError> {
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| malformed(file, text, &error))?.clone();
    let column = |name: &str| column(file, &headers, name);
    let required = |name: &str| {
        column(name)?.ok_or_else(|| {
            let found = headers.iter().collect::<Vec<_>>().join(", ");
            let reason =
                format!("needs the columns id, severity and status; `{name}` is missing among: {found}");
            EvidenceError::malformed(file, 1, reason)
        })
    };
    let (id, severity, status) = (required("id")?, required("severity")?, required("status")?);
    let title = column("title")?;
    let mut lines = Lines::new(text);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| malformed(file, text, &error))? {
        let line = line(&mut lines, text, record.position());
        let cell = |index: usize| record.get(index).unwrap_or_default();
        let required = |index: usize, name: &str| {
            let value = cell(index).trim();
            if value.is_empty() {
                return Err(EvidenceError::malformed(file, line, format!("`{name}` is empty")));
            }
            Ok(value)
        };
        let critical = is_critical(required(severity, "severity")?, severities)
            .map_err(|reason| EvidenceError::malformed(file, line, reason))?;
        tally.add(Stated {
            id: required(id, "id")?.to_owned(),
            title: title.map(cell).unwrap_or_default().to_owned(),
            open: is_open(required(status, "status")?),
            critical,
            line,
        })?;
    }
    Ok(())
}

fn column(file: &str, headers: &StringRecord, name: &str) -> Result<Option<usize>, EvidenceError> {
    let mut found = headers.iter().enumerate().filter(|(_, header)| header.trim().eq_ignore_ascii_case(name));
    let first = found.next().map(|(index, _)| index);
    match found.next() {
        None => Ok(first),
        Some(_) => Err(EvidenceError::malformed(file, 1, format!("has the column `{name}` twice"))),
    }
}

/// The line of a record. The position that the parser gives is before the empty lines that it skips.
fn line(lines: &mut Lines<'_>, text: &str, position: Option<&Position>) -> u64 {
    let offset = position.and_then(|position| usize::try_from(position.byte()).ok()).unwrap_or_default();
    let rest = text.get(offset..).unwrap_or_default();
    let skipped = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    lines.at(offset + skipped)
}

fn malformed(file: &str, text: &str, error: &csv::Error) -> EvidenceError {
    let line = line(&mut Lines::new(text), text, error.position());
    let reason = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} fields where the header has {expected_len}: quote the commas within a field")
        }
        _ => format!("is no csv: {error}"),
    };
    EvidenceError::malformed(file, line, reason)
}
