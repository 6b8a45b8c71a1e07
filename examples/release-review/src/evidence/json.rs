//! JSON evidence: typed, with the file's own line for each error and each element.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{error::EvidenceError, lines::Lines};

/// A JSON file and the way back from a part of its text to a line.
#[derive(Debug)]
pub(crate) struct JsonFile<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines<'a>,
}

impl<'a> JsonFile<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, lines: Lines::new(text) }
    }

    /// The whole file as a value.
    pub(crate) fn parse<T: Deserialize<'a>>(&mut self) -> Result<T, EvidenceError> {
        self.parse_text(self.text)
    }

    /// One part of the file as a value.
    pub(crate) fn parse_part<T: Deserialize<'a>>(&mut self, part: &'a RawValue) -> Result<T, EvidenceError> {
        self.parse_text(part.get())
    }

    /// The line on which a part begins.
    pub(crate) fn line(&mut self, part: &RawValue) -> u64 {
        self.line_of(part.get())
    }

    fn parse_text<T: Deserialize<'a>>(&mut self, text: &'a str) -> Result<T, EvidenceError> {
        serde_json::from_str(text).map_err(|error| {
            let first = self.line_of(text);
            let within = u64::try_from(error.line()).unwrap_or(1).saturating_sub(1);
            EvidenceError::malformed(self.file, first + within, describe(&error))
        })
    }

    fn line_of(&mut self, part: &str) -> u64 {
        // A raw value borrows from the file's text, so its address says where in the text it stands.
        let offset = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        self.lines.at(offset)
    }
}

/// The parser's message without its own position, which counts from the start of the part.
fn describe(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((reason, _)) => format!("is no json of the expected form: {reason}"),
        None => message,
    }
}
