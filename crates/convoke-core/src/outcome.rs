//! What an executor returns: an outcome with its output.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Artifact, Message, Metadata, ResumeToken, TaskStatus, json_is_too_deep};

/// What a task produced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TaskOutput {
    /// The answer as text; an empty one with no data leaves no message in the session.
    pub text: String,
    /// The same in a machine's form.
    pub data: Option<Value>,
    /// Named results; the session keeps them by task and id.
    pub artifacts: Vec<Artifact>,
    /// Further messages, after the answer.
    pub messages: Vec<Message>,
    /// What the executor attaches.
    pub metadata: Metadata,
}

impl TaskOutput {
    /// An answer that is a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// An answer that is a value.
    ///
    /// # Errors
    ///
    /// Where `value` cannot be written as JSON: a map with keys that are no strings, say.
    pub fn from_json(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { data: Some(serde_json::to_value(value)?), ..Self::default() })
    }

    /// Adds a named result.
    #[must_use]
    pub fn with_artifact(mut self, artifact: Artifact) -> Self {
        self.artifacts.push(artifact);
        self
    }

    /// Adds a further message.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Attaches a value.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Whether a value in it nests more than [`MAX_JSON_DEPTH`](crate::MAX_JSON_DEPTH) deep. No session keeps such an output:
    /// a report has its text alone, and instead of being completed the attempt has failed with
    /// [`contract_violation`](crate::ErrorCode::ContractViolation).
    pub fn is_too_deep(&self) -> bool {
        self.data.as_ref().is_some_and(json_is_too_deep)
            || self.artifacts.iter().any(Artifact::is_too_deep)
            || self.messages.iter().any(Message::is_too_deep)
            || self.metadata.values().any(json_is_too_deep)
    }

    /// Reads the answer as a `T`: its data, or its text as JSON where there is no data, or null where there is neither.
    ///
    /// # Errors
    ///
    /// Where the answer is no `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match &self.data {
            Some(data) => T::deserialize(data),
            None if self.text.is_empty() => T::deserialize(Value::Null),
            None => serde_json::from_str(&self.text),
        }
    }
}

impl From<String> for TaskOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for TaskOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// How an attempt ended, in its executor's own word.
///
/// Submitted and working cannot be said: an adapter that hears "working" as a last word returns a
/// [`contract_violation`](crate::ExecutorError::contract_violation).
#[derive(Clone, Debug, PartialEq)]
pub enum TaskOutcome {
    /// Done.
    Completed(TaskOutput),
    /// Asks for input; the same id goes on once there is an answer.
    InputRequired {
        /// What to ask, for a person.
        prompt: String,
        /// The same in a machine's form.
        request: Option<Value>,
        /// What the next attempt needs to go on; the runtime keeps it and gives it back with the answer.
        resume: Option<ResumeToken>,
        /// What there is so far.
        output: TaskOutput,
    },
    /// Cannot be done as things stand.
    Blocked {
        /// Why.
        reason: String,
        /// What there is.
        output: TaskOutput,
    },
    /// Stopped because it was asked to.
    Cancelled {
        /// What there is.
        output: TaskOutput,
    },
    /// Ran out of time by its own clock.
    TimedOut {
        /// What there is.
        output: TaskOutput,
    },
}

impl TaskOutcome {
    /// Done, with this output.
    pub fn completed(output: impl Into<TaskOutput>) -> Self {
        Self::Completed(output.into())
    }

    /// Cannot be done as things stand.
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self::Blocked { reason: reason.into(), output: TaskOutput::default() }
    }

    /// Stopped because it was asked to.
    pub fn cancelled() -> Self {
        Self::Cancelled { output: TaskOutput::default() }
    }

    /// Asks for input.
    pub fn input_required(prompt: impl Into<String>) -> Self {
        Self::InputRequired {
            prompt: prompt.into(),
            request: None,
            resume: None,
            output: TaskOutput::default(),
        }
    }

    /// What the next attempt needs to go on; nothing unless this asks for input.
    #[must_use]
    pub fn with_resume(mut self, token: ResumeToken) -> Self {
        if let Self::InputRequired { resume, .. } = &mut self {
            *resume = Some(token);
        }
        self
    }

    /// Asks in a machine's form too; nothing unless this asks for input.
    #[must_use]
    pub fn with_request(mut self, data: Value) -> Self {
        if let Self::InputRequired { request, .. } = &mut self {
            *request = Some(data);
        }
        self
    }

    /// Sets what there is, whatever the outcome.
    #[must_use]
    pub fn with_output(mut self, new: impl Into<TaskOutput>) -> Self {
        match &mut self {
            Self::Completed(output)
            | Self::InputRequired { output, .. }
            | Self::Blocked { output, .. }
            | Self::Cancelled { output }
            | Self::TimedOut { output } => *output = new.into(),
        }
        self
    }

    /// The status of the report that says this.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Completed(_) => TaskStatus::Completed,
            Self::InputRequired { .. } => TaskStatus::InputRequired,
            Self::Blocked { .. } => TaskStatus::Blocked,
            Self::Cancelled { .. } => TaskStatus::Cancelled,
            Self::TimedOut { .. } => TaskStatus::TimedOut,
        }
    }

    /// The output, whatever the outcome.
    pub fn output(&self) -> &TaskOutput {
        match self {
            Self::Completed(output)
            | Self::InputRequired { output, .. }
            | Self::Blocked { output, .. }
            | Self::Cancelled { output }
            | Self::TimedOut { output } => output,
        }
    }
}

impl From<TaskOutput> for TaskOutcome {
    fn from(output: TaskOutput) -> Self {
        Self::Completed(output)
    }
}

impl From<String> for TaskOutcome {
    fn from(text: String) -> Self {
        Self::completed(text)
    }
}

impl From<&str> for TaskOutcome {
    fn from(text: &str) -> Self {
        Self::completed(text)
    }
}
