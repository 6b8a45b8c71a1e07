//! Whether the release can be rolled back: a runbook with steps, or a statement in JSON.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use serde::Deserialize;

use super::{error::EvidenceError, json::JsonFile, lines::Lines, source_text::source_text};
use crate::fact::SourceLine;

/// What the evidence says about the way back.
#[derive(Debug, Clone)]
pub(crate) struct Rollback {
    pub(crate) available: bool,
    /// The steps that the runbook lists; none for a bare statement.
    pub(crate) steps: Option<u64>,
    pub(crate) source: SourceLine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    rollback: bool,
}

/// Reads `rollback.json`: `{ "rollback": true }`.
pub(crate) fn read_statement(file: &str, bytes: &[u8]) -> Result<Rollback, EvidenceError> {
    let statement: Statement = JsonFile::new(file, source_text(file, bytes)?).parse()?;
    Ok(Rollback { available: statement.rollback, steps: None, source: SourceLine::new(file, 1) })
}

/// Reads `runbook.md`: rollback is available if a section whose heading names it lists steps.
///
/// Steps are list items. Prose is not judged: a section that only promises a rollback has none.
pub(crate) fn read_runbook(file: &str, bytes: &[u8]) -> Result<Rollback, EvidenceError> {
    let text = source_text(file, bytes)?;
    let mut section = Section::default();
    for (event, range) in Parser::new(text).into_offset_iter() {
        section.event(&event, range.start);
    }
    let line = section.found.map_or(1, |offset| Lines::new(text).at(offset));
    Ok(Rollback {
        available: section.steps > 0,
        steps: Some(section.steps),
        source: SourceLine::new(file, line),
    })
}

#[derive(Debug, Default)]
struct Section {
    heading: Option<(HeadingLevel, usize, String)>,
    /// The level of the rollback section that the reader is in.
    within: Option<HeadingLevel>,
    found: Option<usize>,
    open_items: Vec<bool>,
    steps: u64,
}

impl Section {
    fn event(&mut self, event: &Event<'_>, offset: usize) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading = Some((*level, offset, String::new())),
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::Start(Tag::Item) => self.open_items.push(false),
            Event::End(TagEnd::Item) => {
                // An item without a word is a bullet that somebody forgot to fill in.
                let is_filled = self.open_items.pop().unwrap_or_default();
                self.steps += u64::from(is_filled && self.within.is_some());
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, heading)) = &mut self.heading {
                    heading.push_str(text);
                } else if let Some(filled) = self.open_items.last_mut() {
                    *filled |= !text.trim().is_empty();
                }
            }
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        let Some((level, offset, text)) = self.heading.take() else {
            return;
        };
        let letters = text.to_lowercase().replace([' ', '-'], "");
        if letters.contains("rollback") || letters.contains("rollingback") {
            self.within = Some(self.within.map_or(level, |outer| outer.min(level)));
            self.found.get_or_insert(offset);
        } else if self.within.is_some_and(|outer| level <= outer) {
            self.within = None;
        }
    }
}
