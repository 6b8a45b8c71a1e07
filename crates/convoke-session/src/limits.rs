//! How much a session takes, and how much is in it.

use std::fmt;

use serde_json::Value;

use convoke_core::json_size;

/// A limit that is a number, or none, spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most so many.
    Finite(u64),
    /// Any number.
    Unlimited,
}

impl Limit {
    /// Whether `amount` is within the limit.
    pub fn allows(self, amount: u64) -> bool {
        match self {
            Self::Finite(limit) => amount <= limit,
            Self::Unlimited => true,
        }
    }
}

impl From<u64> for Limit {
    fn from(limit: u64) -> Self {
        Self::Finite(limit)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finite(limit) => write!(f, "{limit}"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// How much a session takes.
///
/// Bytes are those of texts and data in messages and artifacts, and of keys and values in the shared state. Task
/// reports and the host's metadata are not counted.
///
/// ```
/// use convoke_session::{Limit, SessionLimits};
///
/// let limits = SessionLimits::default().with_messages(100).with_bytes(Limit::Unlimited);
/// assert_eq!(limits.messages, Limit::Finite(100));
/// assert_eq!(limits.value_bytes, Limit::Finite(1024 * 1024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Messages; 10,000 unless set.
    pub messages: Limit,
    /// Bytes of everything together; 64 MiB unless set.
    pub bytes: Limit,
    /// Artifacts; 10,000 unless set.
    pub artifacts: Limit,
    /// Bytes of one message, one artifact or one value of the shared state; 1 MiB unless set.
    pub value_bytes: Limit,
}

impl SessionLimits {
    /// No limit at all.
    pub fn unlimited() -> Self {
        let none = Limit::Unlimited;
        Self { messages: none, bytes: none, artifacts: none, value_bytes: none }
    }

    /// Limits the messages.
    #[must_use]
    pub fn with_messages(mut self, limit: impl Into<Limit>) -> Self {
        self.messages = limit.into();
        self
    }

    /// Limits the bytes of everything together.
    #[must_use]
    pub fn with_bytes(mut self, limit: impl Into<Limit>) -> Self {
        self.bytes = limit.into();
        self
    }

    /// Limits the artifacts.
    #[must_use]
    pub fn with_artifacts(mut self, limit: impl Into<Limit>) -> Self {
        self.artifacts = limit.into();
        self
    }

    /// Limits the bytes of one message, one artifact or one value.
    #[must_use]
    pub fn with_value_bytes(mut self, limit: impl Into<Limit>) -> Self {
        self.value_bytes = limit.into();
        self
    }
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            messages: Limit::Finite(10_000),
            bytes: Limit::Finite(64 * 1024 * 1024),
            artifacts: Limit::Finite(10_000),
            value_bytes: Limit::Finite(1024 * 1024),
        }
    }
}

/// What a session can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// [`SessionLimits::messages`].
    Messages,
    /// [`SessionLimits::bytes`].
    Bytes,
    /// [`SessionLimits::artifacts`].
    Artifacts,
}

impl LimitKind {
    /// The field of [`SessionLimits`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::Artifacts => "artifacts",
        }
    }

    /// What makes room without a higher limit.
    pub(crate) fn way_out(self) -> &'static str {
        match self {
            Self::Messages => "trim it",
            Self::Bytes => "trim it, erase state",
            Self::Artifacts => "use another session",
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much is in a session, as [`SessionLimits`] counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionUsage {
    /// Messages.
    pub messages: u64,
    /// Bytes of everything together.
    pub bytes: u64,
    /// Artifacts.
    pub artifacts: u64,
}

impl SessionUsage {
    pub(crate) fn bytes(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    pub(crate) fn message(bytes: u64) -> Self {
        Self { messages: 1, bytes, artifacts: 0 }
    }

    /// What an entry of the shared state takes.
    pub(crate) fn entry(key: &str, value: &Value) -> Self {
        Self::bytes((key.len() + json_size(value)) as u64)
    }

    pub(crate) fn artifact(bytes: u64) -> Self {
        Self { messages: 0, bytes, artifacts: 1 }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
            artifacts: self.artifacts.saturating_add(other.artifacts),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_sub(other.messages),
            bytes: self.bytes.saturating_sub(other.bytes),
            artifacts: self.artifacts.saturating_sub(other.artifacts),
        }
    }
}
