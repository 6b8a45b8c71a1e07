//! The sessions of a runtime, by id.

use std::collections::{HashMap, hash_map::Entry};

use parking_lot::RwLock;

use convoke_core::{IdError, SessionId};
use convoke_session::{Admission, AdmissionError, Attempt, Session, SessionActivity, SessionLimits};

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

/// How long the runtime keeps a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the host removes it: it was named.
    UntilRemoved,
    /// As long as work of it is active, paused or detached.
    OfItsWork,
}

#[derive(Debug)]
struct Kept {
    session: Session,
    lifetime: Lifetime,
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
        lifetime: Lifetime,
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
                free.insert(Kept { session, lifetime });
                Ok(admission)
            }
        }
    }

    pub(crate) fn create(&self, session: Session) -> Result<Session, SessionAdminError> {
        match self.0.write().entry(session.id().clone()) {
            Entry::Occupied(taken) => Err(SessionAdminError::Exists { session: taken.key().clone() }),
            Entry::Vacant(free) => {
                Ok(free.insert(Kept { session, lifetime: Lifetime::UntilRemoved }).session.clone())
            }
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

    /// Forgets a session that was kept only for its last work, once that is over.
    pub(crate) fn end_if_over(&self, id: &SessionId) {
        let is_over = |kept: &Kept| kept.lifetime == Lifetime::OfItsWork && kept.session.is_idle();
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
