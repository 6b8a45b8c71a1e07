//! The sessions of a runtime, for what is built on a team.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use convoke_core::{ErrorCode, SessionId, TaskError};
use convoke_session::{Session, SessionLimits};

use crate::TeamBackend;

/// The sessions of a team, for what has one over many tasks and is no runtime itself: the run of a plan, for one. Whoever
/// does a task has its session from the context.
///
/// It keeps no runtime alive; cloning it is cheap. It guards nothing: whoever has the handle of a team can read and write
/// each session that he knows the name of.
#[derive(Clone)]
pub struct TeamSessions {
    runtime: Option<Weak<dyn TeamBackend>>,
}

impl TeamSessions {
    pub(crate) fn new(runtime: Option<Weak<dyn TeamBackend>>) -> Self {
        Self { runtime }
    }

    /// The session with this id, where there is one.
    pub fn get(&self, id: &SessionId) -> Option<Session> {
        self.runtime()?.session(id)
    }

    /// The session with this id as the runtime has it, else as its journal has it, else an empty one; the last two take
    /// `limits`. It stays until it is [removed](Self::remove).
    ///
    /// # Cancel safety
    ///
    /// Dropped after its first poll, it may leave an empty session.
    ///
    /// # Errors
    ///
    /// `session_full` where as many sessions are kept as may be, `shutting_down` where the runtime is gone, and what the
    /// journal of the runtime says.
    pub fn open(
        &self,
        id: &SessionId,
        limits: SessionLimits,
    ) -> impl Future<Output = Result<Session, TaskError>> + Send + use<> {
        let (sessions, id) = (self.clone(), id.clone());
        async move {
            let Some(runtime) = sessions.runtime() else {
                let text = "runtime is gone; open sessions while a `TeamRuntime` lives";
                return Err(TaskError::new(ErrorCode::ShuttingDown, text));
            };
            runtime.open_session(id, limits).await
        }
    }

    /// Forgets a session, in the journal too where the runtime has one, and says whether the runtime had it. Without a
    /// journal it is done at the first poll.
    ///
    /// # Cancel safety
    ///
    /// Dropped after its first poll, it may have removed the session from the runtime alone; the same call again does the
    /// rest.
    ///
    /// # Errors
    ///
    /// `invalid_request` where a task of it is active, paused, detached or late, and what the journal says.
    pub fn remove(&self, id: &SessionId) -> impl Future<Output = Result<bool, TaskError>> + Send + use<> {
        let (sessions, id) = (self.clone(), id.clone());
        async move {
            match sessions.runtime() {
                Some(runtime) => runtime.remove_session(id).await,
                None => Ok(false),
            }
        }
    }

    fn runtime(&self) -> Option<Arc<dyn TeamBackend>> {
        self.runtime.as_ref()?.upgrade()
    }
}

impl fmt::Debug for TeamSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamSessions").field("is_open", &self.runtime().is_some()).finish()
    }
}
