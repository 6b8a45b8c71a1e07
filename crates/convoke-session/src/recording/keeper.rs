//! What a session and its recorder share: how one wakes the other, and when it is over.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::Session;

/// Between a session and its recorder.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The session, while there is something to write that must not be lost with its last clone.
    working: Option<Session>,
    /// Nobody writes any more.
    is_closed: bool,
    /// Nobody records any more.
    is_gone: bool,
}

impl Keeper {
    /// Something is to be written; `false` where nobody does any more.
    pub(crate) fn work(&self, session: &Session) -> bool {
        let mut state = self.state.lock();
        if state.is_gone {
            return false;
        }
        if state.working.is_none() {
            state.working = Some(session.clone());
            drop(state);
            self.wake.notify_one();
        }
        true
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.wake.notify_one();
    }

    /// The session, where there is something to write; whether it is all over, where there is not.
    pub(super) fn take(&self) -> (Option<Session>, bool) {
        let mut state = self.state.lock();
        (state.working.take(), state.is_closed)
    }

    /// Nobody records any more.
    pub(super) fn leave(&self) {
        let left = {
            let mut state = self.state.lock();
            state.is_gone = true;
            state.working.take()
        };
        // Outside the lock, which the last clone of a session takes.
        drop(left);
    }

    /// Waits until there may be something to do.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}

/// The session's side: its end is that of the log's claim.
#[derive(Debug)]
pub(crate) struct KeeperHandle(pub(crate) Arc<Keeper>);

impl Drop for KeeperHandle {
    fn drop(&mut self) {
        self.0.close();
    }
}
