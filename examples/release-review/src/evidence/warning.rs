//! Remarks on evidence that was read all the same.

use std::fmt;

use serde::Serialize;

use crate::text::one_line;

/// Something a reader noticed that changes no fact but that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The file, relative to the evidence directory.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
    /// What was noticed.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(file: &str, line: u64, text: &str) -> Self {
        Self { file: file.to_owned(), line, text: one_line(text, 500) }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
