//! A place in the JSON of an output.

use convoke_core::TaskOutput;
use serde_json::Value;

use crate::Answer;

/// Where in an output to look: the whole JSON of it, or what a pointer names.
#[derive(Clone, Debug, Default)]
pub(super) struct Field(String);

impl Field {
    pub(super) fn new(pointer: impl Into<String>) -> Self {
        Self(pointer.into())
    }

    /// What stands there: in the data, or in the text read as JSON where there is no data.
    pub(super) fn read(&self, output: &TaskOutput) -> Option<Value> {
        match &output.data {
            Some(data) => data.pointer(&self.0).cloned(),
            None => serde_json::from_str::<Value>(&output.text).ok()?.pointer(&self.0).cloned(),
        }
    }

    /// The same as an answer.
    pub(super) fn answer(&self, output: &TaskOutput) -> Option<Answer> {
        self.read(output).map(Answer::value)
    }

    /// What is wrong with the pointer.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.0.is_empty() || self.0.starts_with('/') {
            return Ok(());
        }
        Err(format!(
            "JSON pointer `{0}` does not start with `/`; write `/{0}`, or nothing for the whole",
            self.0
        ))
    }
}
