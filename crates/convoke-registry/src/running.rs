//! Running work: what it awaits, and what is refused to it once it has ended.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Context,
};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use convoke_core::{Extension, Scope};

use crate::{
    LeaseMark, Refusal, Slots,
    dispatch::{ClaimKey, WaitKey},
    registry::Shared,
    slots::WeakSlots,
};

/// A task that runs, as its scope carries it: its place in the graph of who waits for whom.
///
/// A runtime puts it in the scope of what it runs, so that it recognises work that this asks for.
#[derive(Debug)]
pub struct RunningTask {
    /// Weak, since an executor may keep a handle of its task, and the registry keeps the executor.
    slots: WeakSlots,
    claim: ClaimKey,
    has_ended: AtomicBool,
    /// Made by whoever needs it first: few tasks await a handle, and fewer are given up.
    given_up: OnceLock<CancellationToken>,
}

impl Extension for RunningTask {}

impl RunningTask {
    /// The task that has the lease of `mark`, under the limit `slots`.
    pub fn new(slots: &Slots, mark: &LeaseMark) -> Self {
        Self {
            slots: slots.downgrade(),
            claim: mark.key(),
            has_ended: AtomicBool::new(false),
            given_up: OnceLock::new(),
        }
    }

    /// The task of a scope, if it runs under the limit `slots`.
    pub fn of<'a>(scope: &'a Scope, slots: &Slots) -> Option<&'a Self> {
        scope.get::<Self>().filter(|running| running.slots.is_of(slots))
    }

    pub(crate) fn under<'a>(scope: &'a Scope, slots: &WeakSlots) -> Option<&'a Self> {
        scope.get::<Self>().filter(|running| running.slots.is(slots))
    }

    /// Says that its attempt is settled: it may ask for nothing more.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Whether its attempt is settled.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Says that nobody waits for it any more while its work goes on. From then on it may await no handle either: it
    /// holds its place until it ends, and what it awaits may need that.
    pub fn give_up(&self) {
        self.given_up.get_or_init(CancellationToken::new).cancel();
    }

    /// Resolves once nobody waits for it any more.
    pub(crate) fn given_up(&self) -> WaitForCancellationFutureOwned {
        self.given_up.get_or_init(CancellationToken::new).clone().cancelled_owned()
    }

    /// Says that it awaits something from now on; `None` where nobody waits for it itself any more.
    pub fn wait(&self) -> Option<Wait> {
        let slots = self.slots.upgrade()?;
        let key = slots.shared().with_dispatch(|dispatch| dispatch.open_wait(self.claim))?;
        Some(Wait { shared: Arc::clone(slots.shared()), waiter: self.claim, key })
    }
}

/// A wait of a running task. While it lives, the task lends its slot to what is awaited in it. Dropping it ends it.
pub struct Wait {
    shared: Arc<Shared>,
    waiter: ClaimKey,
    key: WaitKey,
}

/// The name of a wait, for the requests that are awaited in it. It may outlive the wait: then nobody awaits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitId(pub(crate) WaitKey);

impl Wait {
    /// Its name.
    pub fn id(&self) -> WaitId {
        WaitId(self.key)
    }

    /// Awaits a task that has a claim already.
    ///
    /// # Errors
    ///
    /// [`Refusal::WaitCycle`] where the wait could never end.
    pub(crate) fn on(&self, claim: ClaimKey) -> Result<(), Refusal> {
        self.shared.with_dispatch(|dispatch| dispatch.await_claim(self.key, claim))
    }

    pub(crate) fn is_of(&self, running: &RunningTask) -> bool {
        self.waiter == running.claim
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.shared.with_dispatch(|dispatch| dispatch.close_wait(self.key));
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// A task that is known before it is in line, so that it can be awaited. Dropping it before it is granted anything ends
/// the claim.
pub struct TaskClaim {
    shared: Arc<Shared>,
    key: ClaimKey,
    refused: Arc<RefusedWait>,
}

/// Where who awaits a task hears that this could never end, once the task is in line.
#[derive(Debug, Default)]
pub(crate) struct RefusedWait {
    refusal: Mutex<Option<Refusal>>,
    waker: AtomicWaker,
}

impl RefusedWait {
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Option<Refusal> {
        // Registered first, so that what is told in between wakes.
        self.waker.register(cx.waker());
        self.refusal.lock().take()
    }

    pub(crate) fn tell(&self, refusal: Refusal) {
        *self.refusal.lock() = Some(refusal);
        self.waker.wake();
    }
}

impl TaskClaim {
    pub(crate) fn new(shared: Arc<Shared>, key: ClaimKey, refused: Arc<RefusedWait>) -> Self {
        Self { shared, key, refused }
    }

    pub(crate) fn refused_wait(&self) -> Arc<RefusedWait> {
        Arc::clone(&self.refused)
    }

    pub(crate) fn key(&self) -> ClaimKey {
        self.key
    }
}

impl Drop for TaskClaim {
    fn drop(&mut self) {
        self.shared.end_claim(self.key);
    }
}

impl fmt::Debug for TaskClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskClaim").finish_non_exhaustive()
    }
}
