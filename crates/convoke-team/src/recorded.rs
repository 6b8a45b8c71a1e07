//! Sessions that are kept in a journal: how they are loaded, once at a time, and recorded.

use std::{collections::HashMap, future::pending, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Mutex as Turn, time::sleep};

use convoke_core::SessionId;
use convoke_session::{Recorder, Session, SessionLimits, SessionStore};

use crate::{SessionAdminError, sessions::Sessions};

/// The journal's side of the sessions of a runtime.
pub(crate) struct RecordedSessions {
    store: SessionStore,
    /// Whose turn it is to load which.
    loading: Mutex<HashMap<SessionId, Arc<Turn<()>>>>,
}

impl RecordedSessions {
    pub(crate) fn new(store: SessionStore) -> Self {
        Self { store, loading: Mutex::default() }
    }

    /// The session as the runtime has it, or as the journal has it, from where it is loaded.
    pub(crate) async fn open(
        &self,
        sessions: &Sessions,
        id: &SessionId,
    ) -> Result<Session, SessionAdminError> {
        self.open_with(sessions, id, sessions.limits()).await
    }

    /// The same with other limits than the usual ones, where it is loaded.
    pub(crate) async fn open_with(
        &self,
        sessions: &Sessions,
        id: &SessionId,
        limits: SessionLimits,
    ) -> Result<Session, SessionAdminError> {
        if let Some(session) = sessions.usable(id) {
            return Ok(session);
        }
        let turn = Arc::clone(self.loading.lock().entry(id.clone()).or_default());
        let opened = {
            let _turn = turn.lock().await;
            match sessions.usable(id) {
                Some(session) => Ok(session),
                None => self.load(sessions, id, limits).await,
            }
        };
        // Whoever is still in line has a copy.
        self.loading.lock().retain(|_, turn| Arc::strong_count(turn) > 1 || turn.try_lock().is_err());
        opened
    }

    /// Removes the log of a session that the runtime has no more.
    pub(crate) async fn delete(&self, id: &SessionId) -> Result<(), SessionAdminError> {
        Ok(self.store.delete(id).await?)
    }

    async fn load(
        &self,
        sessions: &Sessions,
        id: &SessionId,
        limits: SessionLimits,
    ) -> Result<Session, SessionAdminError> {
        sessions.check_room(id)?;
        let (session, recorder) = self.store.open(id, limits).await?;
        // Its end is that of the session, which ends with the last one that has it.
        drop(tokio::spawn(record(recorder, self.store.claim_ttl())));
        sessions.keep(&session)?;
        Ok(session)
    }
}

/// Records, and renews the claim where it ends by time.
async fn record(recorder: Recorder, ttl: Option<Duration>) {
    let beat = move || async move {
        match ttl {
            Some(ttl) => sleep(ttl / 3).await,
            None => pending().await,
        }
    };
    recorder.run(beat).await;
}
