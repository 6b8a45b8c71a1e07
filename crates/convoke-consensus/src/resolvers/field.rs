//! A place in the JSON of an output.

use serde_json::Value;

use convoke_core::TaskOutput;

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
        if let Some(data) = &output.data {
            return data.pointer(&self.0).cloned();
        }
        let mut value: Value = serde_json::from_str(&output.text).ok()?;
        value.pointer_mut(&self.0).map(Value::take)
    }

    /// The same as an answer.
    pub(super) fn answer(&self, output: &TaskOutput) -> Option<Answer> {
        self.read(output).map(Answer::value)
    }

    /// What is wrong with the pointer.
    pub(super) fn check(&self) -> Result<(), String> {
        let pointer = &self.0;
        if !(pointer.is_empty() || pointer.starts_with('/')) {
            let text = "does not start with `/`; write";
            return Err(format!("JSON pointer `{pointer}` {text} `/{pointer}`, or nothing for the whole"));
        }
        // `serde_json` takes such a `~` as it stands, and would look for a field that nobody meant.
        if !pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1'])) {
            let text = "has a `~` that says nothing; write `~0` for `~` and `~1` for `/` in a name";
            return Err(format!("JSON pointer `{pointer}` {text}"));
        }
        Ok(())
    }
}
