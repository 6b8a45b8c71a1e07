//! The sessions of a runtime, by id.

use std::collections::{HashMap, hash_map::Entry};

use convoke_core::{IdError, SessionId};
use convoke_session::{Admission, AdmissionError, Attempt, Session, SessionActivity, SessionLimits};
use parking_lot::RwLock;

/// Why a session was not created or not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionAdminError {
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
    #[error("session `{session}` is not known here; create it, or run a task in it")]
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

/// A session that the runtime keeps.
#[derive(Debug)]
struct Kept {
    session: Session,
    /// Whether it belongs to runs that named no session, and goes with the last of their work.
    ends_when_idle: bool,
}

/// Admission happens under the read lock and removal under the write lock, so that no task is admitted to a session that
/// is being forgotten.
#[derive(Debug, Default)]
pub(crate) struct Sessions(RwLock<HashMap<SessionId, Kept>>);

impl Sessions {
    pub(crate) fn get(&self, id: &str) -> Option<Session> {
        Some(self.0.read().get(id)?.session.clone())
    }

    /// Admits an attempt to a session, which is made if it does not exist and the attempt is admitted.
    pub(crate) fn admit(
        &self,
        id: &SessionId,
        limits: SessionLimits,
        attempt: Attempt,
    ) -> Result<Admission, AdmissionError> {
        if let Some(kept) = self.0.read().get(id) {
            return kept.session.admit(attempt);
        }
        match self.0.write().entry(id.clone()) {
            Entry::Occupied(kept) => kept.get().session.admit(attempt),
            Entry::Vacant(free) => {
                let session = Session::with_limits(id.clone(), limits);
                let admission = session.admit(attempt)?;
                free.insert(Kept { session, ends_when_idle: false });
                Ok(admission)
            }
        }
    }

    pub(crate) fn create(&self, session: Session) -> Result<Session, SessionAdminError> {
        match self.0.write().entry(session.id().clone()) {
            Entry::Occupied(taken) => Err(SessionAdminError::Exists { session: taken.key().clone() }),
            Entry::Vacant(free) => Ok(free.insert(Kept { session, ends_when_idle: false }).session.clone()),
        }
    }

    pub(crate) fn remove(&self, id: &str) -> Result<Session, SessionAdminError> {
        let mut sessions = self.0.write();
        let unknown = || SessionAdminError::Unknown { session: id.to_owned() };
        let kept = sessions.get(id).ok_or_else(unknown)?;
        let activity = kept.session.activity();
        if !activity.is_idle() {
            return Err(SessionAdminError::InUse { session: kept.session.id().clone(), activity });
        }
        Ok(sessions.remove(id).ok_or_else(unknown)?.session)
    }

    /// Keeps the session of a run that named none, as long as work of it is paused or detached.
    pub(crate) fn keep_while_used(&self, session: &Session) {
        if !session.is_idle() {
            let kept = Kept { session: session.clone(), ends_when_idle: true };
            self.0.write().insert(session.id().clone(), kept);
        }
    }

    /// Forgets a session that was kept only for its last work, once that is over.
    pub(crate) fn end_if_over(&self, id: &SessionId) {
        let is_over = |kept: &Kept| kept.ends_when_idle && kept.session.is_idle();
        if !self.0.read().get(id).is_some_and(is_over) {
            return;
        }
        if let Entry::Occupied(kept) = self.0.write().entry(id.clone())
            && is_over(kept.get())
        {
            kept.remove();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.read().len()
    }
}
