//! The sessions of a runtime, by id.

use std::collections::{HashMap, hash_map::Entry};

use convoke_core::{IdError, SessionId};
use convoke_session::{Session, SessionActivity};
use parking_lot::Mutex;

/// Why a session was not created or not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionsError {
    /// The id is taken.
    #[error("session `{session}` exists already; use it, or choose another id")]
    Exists {
        /// The session.
        session: SessionId,
    },
    /// The id is no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The runtime has no such session.
    #[error("session `{session}` is not known here")]
    Unknown {
        /// The id as given.
        session: String,
    },
    /// A task of the session has not come to its end.
    #[error(
        "session `{session}` has {} active, {} paused and {} detached tasks; remove it once they have ended",
        activity.active, activity.paused, activity.detached
    )]
    InUse {
        /// The session.
        session: SessionId,
        /// What is under way.
        activity: SessionActivity,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionId, Session>>);

impl Sessions {
    pub(crate) fn get(&self, id: &str) -> Option<Session> {
        self.0.lock().get(id).cloned()
    }

    pub(crate) fn get_or_create(&self, id: &SessionId) -> Session {
        self.0.lock().entry(id.clone()).or_insert_with(|| Session::new(id.clone())).clone()
    }

    pub(crate) fn create(&self, session: Session) -> Result<Session, SessionsError> {
        match self.0.lock().entry(session.id().clone()) {
            Entry::Occupied(taken) => Err(SessionsError::Exists { session: taken.key().clone() }),
            Entry::Vacant(free) => Ok(free.insert(session).clone()),
        }
    }

    /// Keeps a session that its run would have ended, because work of it is not over.
    pub(crate) fn keep(&self, session: &Session) {
        self.0.lock().insert(session.id().clone(), session.clone());
    }

    pub(crate) fn remove(&self, id: &str) -> Result<Session, SessionsError> {
        let mut sessions = self.0.lock();
        let unknown = || SessionsError::Unknown { session: id.to_owned() };
        let session = sessions.get(id).ok_or_else(unknown)?;
        let activity = session.activity();
        if !activity.is_idle() {
            return Err(SessionsError::InUse { session: session.id().clone(), activity });
        }
        sessions.remove(id).ok_or_else(unknown)
    }

    /// Ends a session that was kept for its last work.
    pub(crate) fn remove_if_idle(&self, id: &SessionId) {
        // A task that is still under way keeps it, and a host that removed it is not wronged.
        let _ = self.remove(id.as_str());
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
