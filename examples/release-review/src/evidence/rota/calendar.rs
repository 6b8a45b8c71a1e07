//! An on-call rota as iCalendar: the events are the shifts.

use std::collections::HashMap;

use jiff::{
    Span, ZonedDateTime,
    civil::DateTime,
    tz::{TimeZone, TimeZoneDatabase},
};

use super::{
    Rota, Shift,
    content_line::{ContentLine, content_lines},
    shift,
};
use crate::{
    evidence::{
        error::{EvidenceError, EvidenceErrorKind},
        source_text::source_text,
    },
    fact::SourceLine,
};

/// Deeper than RFC 5545 nests anything.
const MAX_DEPTH: usize = 8;

/// The properties that make one event stand for several.
const RECURRENCE: [&str; 5] = ["RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID"];

pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Rota, EvidenceError> {
    let text = source_text(file, bytes)?;
    let lines = content_lines(text).map_err(|(line, reason)| EvidenceError::malformed(file, line, reason))?;
    let mut calendar = Calendar::new(file);
    let mut last = 1;
    for line in lines {
        last = line.line;
        calendar.line(line)?;
    }
    calendar.finish(last)
}

#[derive(Debug)]
struct Calendar<'a> {
    file: &'a str,
    zones: TimeZoneDatabase,
    open: Vec<String>,
    begun: bool,
    event: Option<Event>,
    lines_by_uid: HashMap<String, u64>,
    shifts: Vec<Shift>,
}

#[derive(Debug)]
struct Event {
    line: u64,
    properties: HashMap<String, ContentLine>,
}

impl<'a> Calendar<'a> {
    fn new(file: &'a str) -> Self {
        Self {
            file,
            zones: TimeZoneDatabase::bundled(),
            open: Vec::new(),
            begun: false,
            event: None,
            lines_by_uid: HashMap::new(),
            shifts: Vec::new(),
        }
    }

    fn line(&mut self, line: ContentLine) -> Result<(), EvidenceError> {
        let value = || line.value.trim().to_ascii_uppercase();
        match line.name.as_str() {
            "BEGIN" => self.begin(value(), line.line),
            "END" => self.end(&value(), line.line),
            _ if self.open.is_empty() => {
                Err(self.malformed(line.line, "begins without `BEGIN:VCALENDAR`, so it is no calendar"))
            }
            // Deeper levels, an alarm for one, have properties of the same names.
            _ if self.open.len() == 2 => self.property(line),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, component: String, line: u64) -> Result<(), EvidenceError> {
        if self.open.len() == MAX_DEPTH {
            let reason = format!("nests components more than {MAX_DEPTH} deep");
            return Err(EvidenceError::at(EvidenceErrorKind::Limit, self.file, line, reason));
        }
        match (self.open.len(), component.as_str()) {
            (0, "VCALENDAR") => self.begun = true,
            (0, _) => {
                return Err(self.malformed(line, "begins without `BEGIN:VCALENDAR`, so it is no calendar"));
            }
            (1, "VEVENT") => self.event = Some(Event { line, properties: HashMap::new() }),
            _ => {}
        }
        self.open.push(component);
        Ok(())
    }

    fn end(&mut self, component: &str, line: u64) -> Result<(), EvidenceError> {
        if self.open.pop().as_deref() != Some(component) {
            return Err(self.malformed(line, format!("ends `{component}`, which is not what was begun last")));
        }
        if self.open.len() == 1
            && let Some(event) = self.event.take()
        {
            self.shifts.extend(self.event(&event)?);
        }
        Ok(())
    }

    fn property(&mut self, line: ContentLine) -> Result<(), EvidenceError> {
        if self.event.is_none() {
            return Ok(());
        }
        if RECURRENCE.contains(&line.name.as_str()) {
            let reason = format!(
                "has a recurring event (`{}`), which is not judged: export the single shifts instead",
                line.name
            );
            return Err(self.malformed(line.line, reason));
        }
        if line.name == "UID"
            && let Some(first) = self.lines_by_uid.insert(line.value.clone(), line.line)
        {
            let reason =
                format!("the event `{}` stands on line {first} already: keep one of them", line.value);
            return Err(self.malformed(line.line, reason));
        }
        let read = ["DTSTART", "DTEND", "DURATION", "STATUS", "SUMMARY", "UID"];
        if !read.contains(&line.name.as_str()) {
            return Ok(());
        }
        let (name, number) = (line.name.clone(), line.line);
        let repeated = self.event.as_mut().and_then(|event| event.properties.insert(line.name.clone(), line));
        match repeated {
            None => Ok(()),
            Some(_) => Err(self.malformed(number, format!("has `{name}` twice in one event"))),
        }
    }

    fn event(&self, event: &Event) -> Result<Option<Shift>, EvidenceError> {
        let get = |name: &str| event.properties.get(name);
        if get("STATUS").is_some_and(|status| status.value.trim().eq_ignore_ascii_case("CANCELLED")) {
            return Ok(None);
        }
        let Some(start) = get("DTSTART") else {
            return Err(self.malformed(event.line, "has an event without `DTSTART`"));
        };
        let from = self.moment(start)?;
        let until = match (get("DTEND"), get("DURATION")) {
            (Some(end), None) => self.moment(end)?,
            (None, Some(duration)) => {
                let span: Span = duration.value.trim().parse().map_err(|_| {
                    self.malformed(duration.line, format!("`{}` is no duration", duration.value.trim()))
                })?;
                from.checked_add(span).map_err(|error| self.malformed(duration.line, error))?
            }
            (Some(end), Some(_)) => {
                return Err(self.malformed(end.line, "has both `DTEND` and `DURATION` in one event"));
            }
            (None, None) => {
                return Err(self.malformed(event.line, "has an event without `DTEND` and `DURATION`"));
            }
        };
        let who = get("SUMMARY").map_or_else(|| "somebody".to_owned(), |summary| unescape(&summary.value));
        shift(self.file, start.line, &who, from.timestamp(), until.timestamp()).map(Some)
    }

    /// A moment of the calendar: in UTC, or in a zone that is named.
    fn moment(&self, line: &ContentLine) -> Result<ZonedDateTime, EvidenceError> {
        let written = line.value.trim();
        let (civil, is_utc) = match written.strip_suffix('Z') {
            Some(civil) => (civil, true),
            None => (written, false),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if line.parameter("VALUE") == Some("DATE") || (civil.len() == 8 && digits(civil)) {
            let reason = "has an all-day event, which begins at another moment in each zone: give it a time";
            return Err(self.malformed(line.line, reason));
        }
        let well_formed = civil
            .split_once('T')
            .is_some_and(|(date, time)| date.len() == 8 && time.len() == 6 && digits(date) && digits(time));
        let civil = well_formed.then(|| DateTime::strptime("%Y%m%dT%H%M%S", civil)).and_then(Result::ok);
        let Some(civil) = civil else {
            return Err(
                self.malformed(line.line, format!("`{written}` is no date and time, as in 20260814T090000Z"))
            );
        };
        let zone = match (is_utc, line.parameter("TZID")) {
            (true, _) => TimeZone::UTC,
            (false, Some(name)) => self.zones.get(name).map_err(|_| {
                let reason =
                    format!("the time zone `{name}` is not known: write its IANA name, as in Europe/Berlin");
                self.malformed(line.line, reason)
            })?,
            (false, None) => {
                let reason =
                    format!("`{written}` has no time zone: add a `TZID` or write it in UTC with a Z");
                return Err(self.malformed(line.line, reason));
            }
        };
        civil.to_zoned_datetime(zone).map_err(|error| self.malformed(line.line, error))
    }

    fn malformed(&self, line: u64, reason: impl std::fmt::Display) -> EvidenceError {
        EvidenceError::malformed(self.file, line, reason)
    }

    fn finish(self, last: u64) -> Result<Rota, EvidenceError> {
        if !self.begun {
            return Err(self.malformed(1, "is empty, so it is no calendar"));
        }
        if let Some(component) = self.open.last() {
            return Err(self.malformed(last, format!("ends before `END:{component}`")));
        }
        Ok(Rota::Shifts { shifts: self.shifts, file: SourceLine::new(self.file, 1) })
    }
}

/// A text value as a person reads it, on one line.
fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(match characters.next() {
                Some('n' | 'N') | None => ' ',
                Some(other) => other,
            }),
            other => text.push(other),
        }
    }
    let text = text.trim();
    if text.is_empty() { "somebody".to_owned() } else { text.to_owned() }
}
