//! The end of a session with its plan.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use convoke_observability::ObserverError;
use convoke_planning::{PlanEvent, PlanEventKind, PlanObserver, machine::StopReason};
use convoke_registry::TeamSessions;

use crate::run_session::id_of;

/// Observes a runner, and removes the session of each run whose plan is completed. Made by
/// [`TeamStepExecutor::session_removal`](crate::TeamStepExecutor::session_removal).
///
/// A session that is still in use stays, and counts as a failure of this observer. Where the sessions of the runtime are
/// kept in a journal, the runtime forgets it at once, and the journal keeps it: that takes time, which an observer has not. There use
/// [`remove_session`](crate::TeamStepExecutor::remove_session) once the run has ended.
#[derive(Clone, Debug)]
pub struct SessionRemoval {
    sessions: TeamSessions,
}

impl SessionRemoval {
    pub(crate) fn new(sessions: TeamSessions) -> Self {
        Self { sessions }
    }
}

impl PlanObserver for SessionRemoval {
    fn observe(&self, event: &PlanEvent) -> Result<(), ObserverError> {
        if event.kind != PlanEventKind::Finished || event.stop != Some(StopReason::Completed) {
            return Ok(());
        }
        let removal = pin!(self.sessions.remove(&id_of(&event.plan, &event.run)?));
        // The first poll has the runtime forget it.
        if let Poll::Ready(removed) = removal.poll(&mut Context::from_waker(Waker::noop())) {
            removed?;
        }
        Ok(())
    }
}
