//! What a run shares with its steps and with whoever follows it.

use std::sync::{Arc, OnceLock};

use convoke_core::{RunId, StepId};
use tokio::sync::broadcast;

use crate::PlanEvent;

/// How many updates wait for who is slow; the oldest go first.
const BUFFERED_UPDATES: usize = 256;

/// What a step says about how far it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The step.
    pub step: StepId,
    /// How far it is, from 0 to 1.
    pub fraction: f32,
    /// What it is doing.
    pub note: String,
}

/// What is told of a run while it goes on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanUpdate {
    /// Something happened.
    Event(PlanEvent),
    /// A step says how far it is.
    Progress(Progress),
}

/// Where the updates of a run come from; made once somebody follows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hub(Arc<OnceLock<broadcast::Sender<PlanUpdate>>>);

impl Hub {
    pub(super) fn follow(&self) -> PlanUpdates {
        let sender = self.0.get_or_init(|| broadcast::Sender::new(BUFFERED_UPDATES));
        PlanUpdates { receiver: sender.subscribe(), missed: 0 }
    }

    pub(super) fn has_followers(&self) -> bool {
        self.0.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    pub(super) fn tell(&self, update: impl FnOnce() -> PlanUpdate) {
        if let Some(sender) = self.0.get().filter(|sender| sender.receiver_count() > 0) {
            // Whoever followed may have gone meanwhile.
            let _ = sender.send(update());
        }
    }
}

/// The updates of one run from a moment on, oldest first. At most 256 wait; older ones are dropped and counted.
#[derive(Debug)]
pub struct PlanUpdates {
    receiver: broadcast::Receiver<PlanUpdate>,
    missed: u64,
}

impl PlanUpdates {
    /// The next update; `None` once the run has ended and all are read.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no update.
    pub async fn next(&mut self) -> Option<PlanUpdate> {
        loop {
            match self.receiver.recv().await {
                Ok(update) => return Some(update),
                Err(broadcast::error::RecvError::Lagged(missed)) => self.missed += missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// How many updates were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

/// What a run shares with its steps.
#[derive(Debug)]
pub(crate) struct RunShared {
    id: RunId,
    hub: Hub,
}

impl RunShared {
    pub(super) fn new(id: RunId, hub: Hub) -> Self {
        Self { id, hub }
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.id
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn tell_progress(&self, progress: impl FnOnce() -> Progress) {
        self.hub.tell(|| PlanUpdate::Progress(progress()));
    }
}
