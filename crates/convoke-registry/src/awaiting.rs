//! Awaiting a task through its handle: who does, since when, and why not.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use parking_lot::Mutex;
use tokio_util::sync::WaitForCancellationFutureOwned;

use convoke_core::{ErrorCode, Scope, TaskError};

use crate::{
    RunningTask, Slots, TaskClaim, Wait, dispatch::ClaimKey, running::RefusedWait, slots::WeakSlots,
};

/// Where the task behind a handle stands among those who wait for each other.
#[derive(Debug)]
pub struct Awaitable {
    slots: WeakSlots,
    claim: ClaimKey,
    refused: Arc<RefusedWait>,
    /// The task that started it, which awaits it also where another task polls the handle for it.
    starter: Option<Scope>,
}

impl Awaitable {
    /// The task that has `claim` under the limit `slots`; `starter` is the scope of the task that started it, if one did.
    pub fn new(slots: &Slots, claim: &TaskClaim, starter: Option<Scope>) -> Self {
        Self { slots: slots.downgrade(), claim: claim.key(), refused: claim.refused_wait(), starter }
    }
}

/// The wait of a handle, which its updates share: reading them is waiting too.
#[derive(Clone, Debug)]
pub(crate) struct Awaiting(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    place: Awaitable,
    /// The wait of the task that polls.
    wait: Option<Wait>,
    /// Resolves once nobody waits for that task itself any more.
    given_up: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Why that task may not wait.
    refusal: Option<TaskError>,
}

impl Awaiting {
    pub(crate) fn new(place: Awaitable) -> Self {
        Self(Arc::new(Mutex::new(Inner { place, wait: None, given_up: None, refusal: None })))
    }

    /// Notes that the current task awaits; an error where that could never end, or where it is given up itself.
    pub(crate) fn note(&self, cx: &mut Context<'_>) -> Result<(), TaskError> {
        self.0.lock().note(cx)
    }

    /// Nobody waits any more.
    pub(crate) fn end(&self) {
        let mut inner = self.0.lock();
        (inner.wait, inner.given_up) = (None, None);
    }
}

impl Inner {
    fn note(&mut self, cx: &mut Context<'_>) -> Result<(), TaskError> {
        let slots = self.place.slots.clone();
        let current = Scope::current().filter(|scope| RunningTask::under(scope, &slots).is_some());
        let is_current = current.is_some();
        let waiter = current.or_else(|| self.place.starter.clone());
        let Some(running) = waiter.as_ref().and_then(|scope| RunningTask::under(scope, &slots)) else {
            (self.wait, self.given_up, self.refusal) = (None, None, None);
            return Ok(());
        };
        let told = self.place.refused.poll(cx);
        let is_known = self.wait.as_ref().is_some_and(|wait| wait.is_of(running));
        if !is_known {
            // The one before ends first: a task is awaited by one at a time.
            (self.wait, self.refusal) = (None, None);
            // Whoever has the handle of a task that another one started is not given up with that one.
            self.given_up = is_current.then(|| Box::pin(running.given_up()));
        }
        if self.given_up.as_mut().is_some_and(|given_up| given_up.as_mut().poll(cx) == Poll::Ready(())) {
            let text =
                "task that awaits it was given up, and may await nothing any more; the task itself goes on";
            return Err(TaskError::new(ErrorCode::InvalidRequest, text));
        }
        if is_known {
            // Kept, since both the handle and its updates are to hear it.
            self.refusal = self.refusal.take().or(told.map(TaskError::from));
        } else {
            self.wait = running.wait();
            if let Some(wait) = &self.wait {
                self.refusal = wait.on(self.place.claim).err().map(TaskError::from);
            }
        }
        self.refusal.clone().map_or(Ok(()), Err)
    }
}
