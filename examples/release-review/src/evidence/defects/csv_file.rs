//! Defects as CSV with the columns `id`, `severity`, `status` and, if wanted, `title`; others are not read.

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord};

use super::{
    Stated, Tally,
    severity::{is_critical, is_open},
};
use crate::evidence::{error::EvidenceError, lines::Lines, settings::Severities, warning::Warning};

/// The most remarks on records that go over several lines.
const MAX_REMARKS: usize = 20;

pub(super) fn read(
    file: &str,
    text: &str,
    severities: &Severities,
    tally: &mut Tally<'_>,
) -> Result<Vec<Warning>, EvidenceError> {
    if let Some(offset) = unclosed_quote(text) {
        let reason =
            "opens a quote that nothing closes, which would hide every defect after it: close the quote";
        return Err(EvidenceError::malformed(file, Lines::new(text).at(offset), reason));
    }
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| malformed(file, text, &error))?.clone();
    if headers.iter().any(has_lines) {
        let reason =
            "has a column whose name goes over several lines: is its quote closed where it should be?";
        return Err(EvidenceError::malformed(file, 1, reason));
    }
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
    let read = [Some(id), Some(severity), Some(status), title];
    let mut warnings = Vec::new();
    let mut more = 0_usize;
    let mut lines = Lines::new(text);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| malformed(file, text, &error))? {
        let line = line(&mut lines, text, record.position());
        // A quote that is closed too late takes the defects in between for a part of its field.
        let over_lines = |index: &usize| record.get(*index).is_some_and(has_lines);
        if let Some(index) = read.into_iter().flatten().find(over_lines) {
            let name = headers.get(index).unwrap_or_default();
            let reason = format!("`{name}` goes over several lines: is its quote closed where it should be?");
            return Err(EvidenceError::malformed(file, line, reason));
        }
        if let Some(index) = (0..record.len()).find(over_lines) {
            if warnings.len() < MAX_REMARKS {
                let name = headers.get(index).unwrap_or_default();
                let text =
                    format!("`{name}` goes over several lines, which were read as one field of one defect");
                warnings.push(Warning::new(file, line, &text));
            } else {
                more += 1;
            }
        }
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
    if more > 0 {
        let text = format!("{more} more defects go over several lines");
        warnings.push(Warning::new(file, 1, &text));
    }
    Ok(warnings)
}

/// Where a quote opens that nothing closes; the parser takes the end of the file for its end.
///
/// A quote opens at the start of a field only, and a doubled one within stands for itself.
fn unclosed_quote(text: &str) -> Option<usize> {
    // The parser skips a byte order mark.
    let skipped = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut bytes = text.bytes().enumerate().skip(skipped).peekable();
    let mut opened = None;
    let mut at_start = true;
    while let Some((offset, byte)) = bytes.next() {
        match byte {
            b'"' if opened.is_some() => {
                if bytes.next_if(|(_, next)| *next == b'"').is_none() {
                    opened = None;
                    at_start = false;
                }
            }
            _ if opened.is_some() => {}
            b'"' if at_start => opened = Some(offset),
            _ => at_start = matches!(byte, b',' | b'\r' | b'\n'),
        }
    }
    opened
}

fn has_lines(field: &str) -> bool {
    field.contains(['\r', '\n'])
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
