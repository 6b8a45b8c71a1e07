//! Ids: short, checked strings that are cheap to clone and equal only byte for byte.

use std::{borrow::Borrow, convert::Infallible, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} id {problem}")]
pub struct IdError {
    kind: &'static str,
    problem: IdProblem,
}

impl IdError {
    /// The kind of id that was asked for, in lower case: `agent`, `task`, ..
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The rule that the text breaks.
    pub fn problem(&self) -> &IdProblem {
        &self.problem
    }
}

/// The rule that a text breaks when it is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdProblem {
    /// The text has no byte.
    #[error("is empty; give it 1 to 256 bytes")]
    Empty,
    /// The text has more than [`MAX_ID_BYTES`] bytes.
    #[error("has {bytes} bytes; at most 256 are allowed")]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
    /// The text holds a control character.
    #[error("`{text}` has a control character at byte {position}; remove it")]
    Control {
        /// The text, control characters escaped.
        text: String,
        /// The byte offset of the first control character.
        position: usize,
    },
    /// The text begins or ends with white space.
    #[error("`{text}` begins or ends with a blank; trim it")]
    Blank {
        /// The text as given.
        text: String,
    },
}

fn check(kind: &'static str, text: &str) -> Result<(), IdError> {
    // Most ids are of this kind, and cost a pass over their bytes.
    let is_plain = |plain, byte: u8| plain & (b' '..=b'~').contains(&byte);
    let has_blank = text.starts_with(' ') || text.ends_with(' ');
    if !has_blank && (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().fold(true, is_plain) {
        return Ok(());
    }
    let problem = if text.is_empty() {
        IdProblem::Empty
    } else if text.len() > MAX_ID_BYTES {
        IdProblem::TooLong { bytes: text.len() }
    } else if let Some(position) = text.find(char::is_control) {
        IdProblem::Control { text: text.escape_debug().to_string(), position }
    } else if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        IdProblem::Blank { text: text.to_owned() }
    } else {
        return Ok(());
    };
    Err(IdError { kind, problem })
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// 1 to 256 bytes, no control characters, no leading or trailing blank; equal only byte for byte; cloning
        /// copies a pointer.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and keeps `text`.
            ///
            /// # Errors
            ///
            /// [`IdError`] names the rule that `text` breaks.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, IdError> {
                let text = text.into();
                check($kind, &text)?;
                Ok(Self(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = IdError;

            fn try_from(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<&String> for $name {
            type Error = IdError;

            fn try_from(text: &String) -> Result<Self, IdError> {
                Self::new(text.as_str())
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<&$name> for $name {
            type Error = IdError;

            fn try_from(id: &$name) -> Result<Self, IdError> {
                Ok(id.clone())
            }
        }

        /// Copies a pointer, for what carries ids of several kinds.
        impl From<$name> for Arc<str> {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    )*};
}

/// The ids that this crate makes itself, from texts that are known to be ids.
macro_rules! generated {
    ($($name:ident),*) => {$(
        impl $name {
            pub(crate) fn from_generated(text: &str) -> Self {
                debug_assert!(Self::new(text).is_ok());
                Self(Arc::from(text))
            }
        }
    )*};
}

generated!(AgentId, CommitId, LogId, MessageId, OwnerId, PlanId, RunId, SessionId, SignalId, TaskId);

ids! {
    /// Names an agent within a registry.
    AgentId = "agent";
    /// Names a skill: the routing label that an agent declares and a task requires.
    SkillId = "skill";
    /// Names a task within its session.
    TaskId = "task";
    /// Names a session within a runtime.
    SessionId = "session";
    /// Names an artifact within its task.
    ArtifactId = "artifact";
    /// Names a message within its session.
    MessageId = "message";
    /// Names a plan.
    PlanId = "plan";
    /// Names a step within its plan.
    StepId = "step";
    /// Names a run of a plan: the same over all resumes, another for a fork and for a second run.
    RunId = "run";
    /// Names one tool call, so that its answer can be matched to it.
    CallId = "call";
    /// Names a log within a journal.
    LogId = "log";
    /// Names who claims a log: one run of one process, say.
    OwnerId = "owner";
    /// Names one commit within its log, so that a repeat of it is known as one.
    CommitId = "commit";
    /// Names a signal within its log, so that a repeat of it is known as one.
    SignalId = "signal";
}

/// An id converts into itself, so that builders can take `impl TryInto<Id>` for ids and texts alike.
impl From<Infallible> for IdError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
