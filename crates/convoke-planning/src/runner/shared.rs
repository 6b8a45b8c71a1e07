//! What a run shares with its steps and with whoever follows it.

use std::sync::{Arc, OnceLock};

use convoke_core::{RunId, StepId};
use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};
use tokio_util::sync::CancellationToken;

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
pub(crate) struct Hub {
    sender: Arc<OnceLock<broadcast::Sender<PlanUpdate>>>,
    /// Signalled when the run is over. The sender may outlive it: steps and handles keep it.
    ended: CancellationToken,
}

impl Hub {
    pub(super) fn follow(&self) -> PlanUpdates {
        let sender = self.sender.get_or_init(|| broadcast::Sender::new(BUFFERED_UPDATES));
        PlanUpdates { receiver: sender.subscribe(), missed: 0, ended: self.ended.clone() }
    }

    /// Signalled when the run is over.
    pub(super) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    pub(super) fn has_followers(&self) -> bool {
        self.sender.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    pub(super) fn tell(&self, update: impl FnOnce() -> PlanUpdate) {
        if let Some(sender) = self.sender.get().filter(|sender| sender.receiver_count() > 0) {
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
    ended: CancellationToken,
}

impl PlanUpdates {
    /// The next update; `None` once the run has ended and all are read.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no update.
    pub async fn next(&mut self) -> Option<PlanUpdate> {
        loop {
            // What came before the end is read first.
            let is_over = self.ended.is_cancelled();
            match self.receiver.try_recv() {
                Ok(update) => return Some(update),
                Err(TryRecvError::Lagged(missed)) => {
                    self.missed += missed;
                    continue;
                }
                Err(TryRecvError::Empty) if !is_over => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
            tokio::select! {
                update = self.receiver.recv() => match update {
                    Ok(update) => return Some(update),
                    Err(RecvError::Lagged(missed)) => self.missed += missed,
                    Err(RecvError::Closed) => return None,
                },
                () = self.ended.cancelled() => {}
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
