//! A run that goes on by itself, and what can be said to it.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use convoke_core::{Metadata, json_is_too_deep};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    PlanError, PlanProgress, PlanRun, PlanUpdates, PlanWork, RunOptions,
    machine::{Event, RequestId},
    runner::{
        Settings,
        driver::{Driver, Inbox, Teller, Told},
        shared::Hub,
    },
};

/// A run that goes on by itself; a future of what it comes to.
///
/// Dropping the handle does not end the run. [`cancel`](Self::cancel) does.
///
/// # Cancel safety
///
/// Polled by reference and left, as a branch of `select!` is, it has lost nothing.
#[must_use = "the run goes on by itself, but what it comes to is only here"]
pub struct PlanHandle {
    stop: CancellationToken,
    teller: Teller,
    hub: Hub,
    answer: oneshot::Receiver<Result<PlanRun, PlanError>>,
}

impl PlanHandle {
    pub(super) fn start(settings: Arc<Settings>, work: PlanWork, options: RunOptions) -> Self {
        let retry_failed = options.retry_failed;
        let scope = options.into_scope();
        let stop = scope.cancellation().clone();
        let inbox = Inbox::default();
        let (answers, answer) = oneshot::channel();
        let hub = Hub::default();
        let handle = Self { stop: stop.clone(), teller: inbox.teller().clone(), hub: hub.clone(), answer };
        tokio::spawn(async move {
            // However it ends, whoever follows it hears so, and nothing waits any more to be told to stop it.
            let _over = (hub.ended().clone().drop_guard(), stop.drop_guard());
            // Whoever asked may have gone.
            let opened = match settings.open(work, retry_failed, (scope, hub.clone()), inbox.teller()).await {
                Ok(opened) => opened,
                Err(error) => {
                    let _ = answers.send(Err(error));
                    return;
                }
            };
            let mut driver = Driver::new(settings, opened, inbox);
            let run = driver.run().await;
            hub.ended().cancel();
            let _ = answers.send(Ok(run));
            driver.keep().await;
        });
        handle
    }

    /// Approves what a step waits for. Under [`Durability::Strict`](crate::machine::Durability::Strict) it is durable once this
    /// returns, where there is a journal.
    ///
    /// # Cancel safety
    ///
    /// Dropped before its first poll, it has said nothing; after that it was said, and only the answer is lost.
    ///
    /// # Errors
    ///
    /// [`PlanError::Refused`] where no such request is open; [`PlanError::Ended`] where the run is over, or ended before the
    /// approval was durable.
    pub async fn approve(&self, request: RequestId, metadata: Metadata) -> Result<(), PlanError> {
        metadata.values().try_for_each(check_depth)?;
        self.call(Event::Approved { request, metadata }).await
    }

    /// Denies what a step waits for: it is blocked.
    ///
    /// # Cancel safety
    ///
    /// As for [`approve`](Self::approve).
    ///
    /// # Errors
    ///
    /// As for [`approve`](Self::approve).
    pub async fn deny(&self, request: RequestId, reason: impl Into<String>) -> Result<(), PlanError> {
        self.call(Event::Denied { request, reason: reason.into() }).await
    }

    /// Answers the question of a start.
    ///
    /// # Cancel safety
    ///
    /// As for [`approve`](Self::approve).
    ///
    /// # Errors
    ///
    /// [`PlanError::Refused`] where it has none open, and [`PlanError::Ended`].
    pub async fn answer(&self, start: u64, answer: impl Into<Value>) -> Result<(), PlanError> {
        let answer = answer.into();
        check_depth(&answer)?;
        self.call(Event::Answered { start, answer }).await
    }

    /// Asks the run to end: what ends within the grace of the policy counts, what was interrupted is pending again, and
    /// what still runs after it is detached.
    pub fn cancel(&self) {
        self.stop.cancel();
    }

    /// Where the plan stands now. Waits while the planner makes it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it has changed nothing.
    ///
    /// # Errors
    ///
    /// [`PlanError::Ended`].
    pub async fn status(&self) -> Result<PlanProgress, PlanError> {
        let (answer, answered) = oneshot::channel();
        self.teller.tell(Told::Status(answer))?;
        answered.await.map_err(|_| PlanError::Ended)
    }

    /// What happens from now on, and what steps say of themselves.
    pub fn updates(&self) -> PlanUpdates {
        self.hub.follow()
    }

    async fn call(&self, event: Event) -> Result<(), PlanError> {
        let (answer, answered) = oneshot::channel();
        self.teller.tell(Told::Call(event, answer))?;
        answered.await.map_err(|_| PlanError::Ended)?
    }

    /// Waits for the end, and ends the run where nobody does.
    pub(super) async fn waited_for(self) -> Result<PlanRun, PlanError> {
        let waits: DropGuard = self.stop.clone().drop_guard();
        let run = self.await;
        waits.disarm();
        run
    }
}

/// What nests too deeply could be written and not read again.
fn check_depth(value: &Value) -> Result<(), PlanError> {
    if json_is_too_deep(value) { Err(PlanError::TooDeep) } else { Ok(()) }
}

impl Future for PlanHandle {
    type Output = Result<PlanRun, PlanError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = std::task::ready!(Pin::new(&mut self.answer).poll(cx));
        Poll::Ready(answer.unwrap_or(Err(PlanError::Ended)))
    }
}

impl fmt::Debug for PlanHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanHandle").finish_non_exhaustive()
    }
}
