//! Messages: what a host or an agent says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, json_is_too_deep, json_size};

/// In what part a message speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whoever gives the work.
    #[default]
    User,
    /// An agent.
    Agent,
    /// A tool; its [`call`](Message::call) names the call that it answers.
    Tool,
    /// Instructions above the conversation.
    System,
}

/// What somebody says. Who says it, and where it stands, is stamped by the session that takes it.
///
/// ```
/// use convoke_core::{Message, Role};
///
/// let message = Message::user("please look at chapter 2");
/// assert_eq!(message.role, Role::User);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Message {
    /// In what part it speaks.
    pub role: Role,
    /// The text; may be empty where `data` says it all.
    pub text: String,
    /// The same in a machine's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The call that this message makes or answers. A call and its answer are kept or trimmed together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl Message {
    /// A message with a role and a text.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), data: None, call: None }
    }

    /// A message from whoever gives the work.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// A message from an agent.
    pub fn agent(text: impl Into<String>) -> Self {
        Self::new(Role::Agent, text)
    }

    /// Adds the machine's form.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Says which call this message makes or answers.
    #[must_use]
    pub fn with_call(mut self, call: CallId) -> Self {
        self.call = Some(call);
        self
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.data.as_ref().is_some_and(json_is_too_deep)
    }

    /// The bytes of text and data, as session limits count them.
    pub fn size(&self) -> usize {
        self.text.len() + self.data.as_ref().map_or(0, json_size)
    }
}
