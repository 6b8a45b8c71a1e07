//! Writes that come after their attempt has ended.

use std::{fmt, sync::Arc};

use convoke_core::{AgentId, SessionId, TaskId};

/// A write that was refused because its attempt has ended. It carries no content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateWrite {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// The attempt that has ended.
    pub attempt: u32,
    /// Who tried to write; `None` where the attempt was a [coordinated](crate::Author::Team) one.
    pub agent: Option<AgentId>,
    /// What kind of write it was.
    pub kind: LateWriteKind,
}

/// What kind of write came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LateWriteKind {
    /// A message.
    Message,
    /// An artifact.
    Artifact,
    /// A change of the shared state.
    State,
}

impl LateWriteKind {
    /// The name in `snake_case`, as events write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Artifact => "artifact",
            Self::State => "state",
        }
    }
}

impl fmt::Display for LateWriteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Told of each refused late write, once, on the writer's thread and outside the session's lock.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
///
/// use convoke_session::LateWriteHook;
///
/// let late = Arc::new(AtomicU32::new(0));
/// let count = Arc::clone(&late);
/// let hook = LateWriteHook::new(move |write| {
///     println!("{} of task `{}` came too late", write.kind, write.task);
///     count.fetch_add(1, Ordering::Relaxed);
/// });
/// # let _ = hook;
/// ```
#[derive(Clone, Default)]
pub struct LateWriteHook(Option<Arc<Hook>>);

type Hook = dyn Fn(&LateWrite) + Send + Sync;

impl LateWriteHook {
    /// Calls `hook` with each late write. It may use the session; a panic reaches the writer.
    pub fn new(hook: impl Fn(&LateWrite) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Tells nobody; the writer still gets its error.
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn call(&self, write: &LateWrite) {
        if let Some(hook) = &self.0 {
            hook(write);
        }
    }
}

impl fmt::Debug for LateWriteHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "LateWriteHook(..)" } else { "LateWriteHook(none)" })
    }
}
