//! A session with a log: its decisions wait for that.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use convoke_core::SessionId;

use super::{Inner, Session};
use crate::{
    SessionActivity, StoreError, StoreErrorKind,
    machine::{Machine, Recorded},
    recording::{Keeper, KeeperHandle, tell},
};

/// A session that it does not keep alive.
#[derive(Debug)]
pub(crate) struct WeakSession(Weak<Inner>);

impl WeakSession {
    pub(crate) fn upgrade(&self) -> Option<Session> {
        self.0.upgrade().map(Session)
    }
}

/// A session without a log is never behind it.
impl Session {
    /// Whether it is kept in a log, from which it can be [loaded](crate::SessionStore::open) again.
    pub fn is_recorded(&self) -> bool {
        self.0.keeper.is_some()
    }

    /// Whether its log is not owned here any more, so that every write is refused. `false` for one without a log.
    pub fn is_over(&self) -> bool {
        self.is_recorded() && self.machine().is_over()
    }

    /// Waits until all that was decided before is in the log; at once where there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it has changed nothing: what was decided is written all the same.
    ///
    /// # Errors
    ///
    /// [`StoreError`] where some of it is not, and will not be.
    pub fn recorded(&self) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        let session = self.clone();
        async move {
            let ((), recorded) = session.decide(|_| ());
            in_log(recorded, &session).await
        }
    }

    /// Ends a session with a log here: the claim is released, so that it can be loaded again, and each later write is
    /// refused. A session without a log stays as it is.
    ///
    /// # Errors
    ///
    /// What is under way, where it is not [idle](Self::is_idle); nothing was changed.
    pub fn close(&self) -> Result<(), SessionActivity> {
        self.machine().close()?;
        if let Some(KeeperHandle(keeper)) = &self.0.keeper {
            keeper.close();
        }
        Ok(())
    }

    /// A session with a log, and what its recorder shares with it.
    pub(crate) fn recorded_by(id: SessionId, machine: Machine) -> (Self, Arc<Keeper>) {
        let keeper = Arc::<Keeper>::default();
        let handle = KeeperHandle(Arc::clone(&keeper));
        (Self(Arc::new(Inner { id, machine: Mutex::new(machine), keeper: Some(handle) })), keeper)
    }

    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.0))
    }

    /// Decides, and waits until that is in the log, where there is one.
    pub(crate) async fn write<T, E: From<StoreError>>(
        &self,
        decide: impl FnOnce(&mut Machine) -> Result<T, E>,
    ) -> Result<T, E> {
        self.sure().await?;
        let (decided, recorded) = self.decide(decide);
        in_log(recorded, self).await?;
        decided
    }

    /// Waits until it is known what is in the log, where a write of it has failed.
    pub(crate) async fn sure(&self) -> Result<(), StoreError> {
        if self.is_recorded() {
            let ((), unsure) = self.decide_with(|_| (), Machine::wait_until_sure);
            in_log(unsure, self).await?;
        }
        Ok(())
    }

    /// Decides at once. What tells that this is in the log comes with it; dropping that changes nothing.
    pub(crate) fn decide<T>(&self, decide: impl FnOnce(&mut Machine) -> T) -> (T, Option<Recorded>) {
        self.decide_with(decide, Machine::wait)
    }

    fn decide_with<T>(
        &self,
        decide: impl FnOnce(&mut Machine) -> T,
        wait: impl FnOnce(&mut Machine) -> Option<Recorded>,
    ) -> (T, Option<Recorded>) {
        let mut machine = self.machine();
        let decided = decide(&mut machine);
        let Some(KeeperHandle(keeper)) = &self.0.keeper else { return (decided, None) };
        let recorded = wait(&mut machine);
        let is_lost = machine.has_work() && !keeper.work(self);
        drop(machine);
        if is_lost {
            self.lose_recorder();
        }
        (decided, recorded)
    }

    /// Nobody writes the log any more.
    pub(crate) fn lose_recorder(&self) {
        let error = self.unrecorded();
        let waiters = self.machine().fail(error.clone(), true);
        tell(waiters, &Err(error));
    }

    fn unrecorded(&self) -> StoreError {
        StoreError::new(self.id(), StoreErrorKind::Ended, "its recorder is gone")
    }
}

/// Waits for the word of the recorder.
pub(crate) async fn in_log(recorded: Option<Recorded>, session: &Session) -> Result<(), StoreError> {
    match recorded {
        None => Ok(()),
        Some(recorded) => recorded.await.unwrap_or_else(|_| Err(session.unrecorded())),
    }
}
