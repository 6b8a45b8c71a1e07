//! Resume tokens: what a paused task needs to go on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json_is_too_deep;

/// What an executor needs to go on after a pause; the session keeps it, and gives it back once, with the answer.
///
/// The version is the executor's own, so that a newer executor can tell an older token from its own.
///
/// ```
/// use convoke_core::{ResumeToken, TaskOutcome};
///
/// let token = ResumeToken::new(1, "the fence is primed");
/// let outcome = TaskOutcome::input_required("which colour?").with_resume(token.clone());
/// assert_eq!(token.version(), 1);
/// # let _ = outcome;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeToken {
    version: u32,
    state: Value,
}

impl ResumeToken {
    /// A token of the executor's format `version` that holds `state`.
    pub fn new(version: u32, state: impl Into<Value>) -> Self {
        Self { version, state: state.into() }
    }

    /// The token of a pause that gave none: version 0, no state.
    pub fn empty() -> Self {
        Self { version: 0, state: Value::Null }
    }

    /// The executor's format version.
    pub fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        json_is_too_deep(&self.state)
    }

    /// What the executor put in.
    pub fn state(&self) -> &Value {
        &self.state
    }
}
