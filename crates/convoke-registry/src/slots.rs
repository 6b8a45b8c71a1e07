//! The limit of slots, and waiting for a lease and a slot together.

use std::{
    collections::HashMap,
    fmt, ptr,
    sync::{Arc, Weak},
};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};

use convoke_core::TaskId;

use crate::{
    Lease, LeaseRequest, Refusal, SlotLease, TaskClaim, WaitId,
    dispatch::{Ask, ClaimKey, PoolKey, PoolLoad, Want},
    lease::{Asker, Held},
    registry::{Requested, Shared},
};

/// How a limit of slots is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotUsage {
    /// The slots in use. Above the limit where work goes on that its waiter has let go of: it had the waiter's slot, and has
    /// one of its own now. Nothing is granted until it is below.
    pub taken: usize,
    /// The requests that wait for one, or for an agent.
    pub waiting: usize,
}

/// A limit that leases share: each lease that is acquired through it takes one slot, together with its unit of capacity
/// or not at all. Cloning shares the limit.
///
/// ```
/// use convoke_core::AgentDescriptor;
/// use convoke_registry::{AgentRegistry, FunctionExecutor, LeaseRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = AgentRegistry::new();
/// let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
/// registry.add(AgentDescriptor::new("echo").with_max_concurrency(8), echo)?;
///
/// let slots = registry.slots(1);
/// let lease = slots.acquire(LeaseRequest::new(&[])).await?;
/// assert_eq!(slots.usage().taken, 1);
/// drop(lease);
/// assert_eq!(slots.usage().taken, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Slots {
    pool: Arc<OwnedPool>,
}

struct OwnedPool {
    shared: Arc<Shared>,
    key: PoolKey,
}

impl Drop for OwnedPool {
    fn drop(&mut self) {
        self.shared.with_dispatch(|dispatch| dispatch.close_pool(self.key));
    }
}

impl Slots {
    pub(crate) fn new(shared: Arc<Shared>, key: PoolKey) -> Self {
        Self { pool: Arc::new(OwnedPool { shared, key }) }
    }

    /// How the limit is used.
    pub fn usage(&self) -> SlotUsage {
        let PoolLoad { taken, waiting } =
            self.pool.shared.with_dispatch(|dispatch| dispatch.pool_load(self.pool.key));
        SlotUsage { taken, waiting }
    }

    /// Takes a unit of an agent's capacity and a slot, together; waits for both where the request says so.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait and leaves no trace; a grant that crosses it goes back at once.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why nobody can serve the request.
    pub fn acquire<'a>(
        &'a self,
        request: LeaseRequest<'a>,
    ) -> impl Future<Output = Result<Lease, Refusal>> + Send + use<'a> {
        acquire(&self.pool.shared, self.pool.key, request)
    }

    /// Takes a slot and no agent; waits for it.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// [`Refusal::WaitCycle`] where the wait could never end.
    pub fn acquire_slot<'a>(
        &'a self,
        request: SlotRequest<'a>,
    ) -> impl Future<Output = Result<SlotLease, Refusal>> + Send + use<'a> {
        let ask = request.0.ask(Want::Slot, self.pool.key);
        wait_for(&self.pool.shared, ask).map(|held| held.map(SlotLease::new))
    }

    /// A claim of a task that is not in line yet, so that it can be awaited before it is.
    pub fn claim(&self, task: &TaskId) -> TaskClaim {
        self.pool.shared.claim(task, self.pool.key)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.pool.shared
    }

    /// Many waits, answered through one queue.
    pub fn batch(&self) -> LeaseBatch {
        let (sender, receiver) = mpsc::unbounded_channel();
        LeaseBatch { slots: self.clone(), claims: HashMap::new(), sender, receiver }
    }

    pub(crate) fn downgrade(&self) -> WeakSlots {
        WeakSlots(Arc::downgrade(&self.pool))
    }
}

/// A limit that is not kept alive.
#[derive(Clone)]
pub(crate) struct WeakSlots(Weak<OwnedPool>);

impl WeakSlots {
    pub(crate) fn upgrade(&self) -> Option<Slots> {
        Some(Slots { pool: self.0.upgrade()? })
    }

    /// Whether both are the same limit.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Whether it is this limit.
    pub(crate) fn is_of(&self, slots: &Slots) -> bool {
        ptr::eq(self.0.as_ptr(), Arc::as_ptr(&slots.pool))
    }
}

impl fmt::Debug for WeakSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSlots").finish_non_exhaustive()
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("usage", &self.usage()).finish()
    }
}

/// A request for a slot and no agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotRequest<'a>(Asker<'a>);

impl<'a> SlotRequest<'a> {
    /// A slot for `task`.
    pub fn new(task: &'a TaskId) -> Self {
        Self(Asker { task: Some(task), ..Asker::default() })
    }

    /// Says in which wait the request is awaited.
    #[must_use]
    pub fn awaited_in(mut self, wait: Option<WaitId>) -> Self {
        self.0.awaited_in = wait;
        self
    }
}

/// How whoever waits is reached.
#[derive(Debug)]
pub(crate) enum Waiter {
    One(oneshot::Sender<Result<Held, Refusal>>),
    OfBatch(usize, mpsc::UnboundedSender<(usize, Result<Held, Refusal>)>),
}

impl Waiter {
    /// Hands the answer over, or back if nobody waits for it any more.
    pub(crate) fn tell(self, answer: Result<Held, Refusal>) -> Result<(), Result<Held, Refusal>> {
        match self {
            Self::One(sender) => sender.send(answer),
            Self::OfBatch(index, sender) => sender.send((index, answer)).map_err(|unsent| unsent.0.1),
        }
    }
}

/// A wait that ends when it is dropped.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    claim: ClaimKey,
    answer: oneshot::Receiver<Result<Held, Refusal>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.with_dispatch(|dispatch| dispatch.withdraw(self.claim));
    }
}

/// No `async fn`, here and above, whose future would have room for the request and again for the future that it awaits.
pub(crate) fn acquire<'a>(
    shared: &'a Arc<Shared>,
    pool: PoolKey,
    request: LeaseRequest<'a>,
) -> impl Future<Output = Result<Lease, Refusal>> + Send + use<'a> {
    wait_for(shared, request.ask(pool)).map(|held| held.and_then(lease))
}

async fn wait_for(shared: &Arc<Shared>, ask: Ask<'_>) -> Result<Held, Refusal> {
    let mut receiver = None;
    let requested = shared.request(ask, || {
        let (sender, answer) = oneshot::channel();
        receiver = Some(answer);
        Waiter::One(sender)
    })?;
    let queued = match requested {
        Requested::Granted(held) => return Ok(held),
        Requested::Queued(queued) => queued,
    };
    let lost = || Refusal::AgentUnavailable { agent: None };
    let mut waiting = Waiting { shared, claim: queued, answer: receiver.ok_or_else(lost)? };
    // The machine keeps the sender until it answers, so that the channel cannot close before.
    (&mut waiting.answer).await.unwrap_or_else(|_| Err(lost()))
}

/// What was granted with a unit of an agent, which is what was asked for.
fn lease(mut held: Held) -> Result<Lease, Refusal> {
    match held.entry.take() {
        Some(entry) => Ok(Lease::new(held, entry)),
        None => Err(Refusal::AgentUnavailable { agent: None }),
    }
}

/// Many waits, answered through one queue in the order of the grants. Dropping it ends them all and leaves no trace.
#[derive(Debug)]
pub struct LeaseBatch {
    slots: Slots,
    claims: HashMap<usize, ClaimKey>,
    sender: mpsc::UnboundedSender<(usize, Result<Held, Refusal>)>,
    receiver: mpsc::UnboundedReceiver<(usize, Result<Held, Refusal>)>,
}

impl LeaseBatch {
    /// Asks for a lease under `index`; one that waits under it already waits no more. `None` means that it waits: [`next`](Self::next)
    /// gives the answer.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why nobody can serve the request.
    pub fn request(&mut self, index: usize, request: LeaseRequest<'_>) -> Result<Option<Lease>, Refusal> {
        let pool = &self.slots.pool;
        let requested =
            pool.shared.request(request.ask(pool.key), || Waiter::OfBatch(index, self.sender.clone()))?;
        match requested {
            Requested::Granted(held) => lease(held).map(Some),
            Requested::Queued(claim) => {
                if let Some(earlier) = self.claims.insert(index, claim) {
                    drop(pool.shared.with_dispatch(|dispatch| dispatch.withdraw(earlier)));
                }
                Ok(None)
            }
        }
    }

    /// Ends the wait under `index`; says whether it was still on. If it was not, its answer is on its way.
    pub fn withdraw(&mut self, index: usize) -> bool {
        let claim = self.claims.remove(&index);
        let withdrawn =
            claim.map(|claim| self.slots.pool.shared.with_dispatch(|dispatch| dispatch.withdraw(claim)));
        withdrawn.flatten().is_some()
    }

    /// The next answer, with its index.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no answer.
    pub async fn next(&mut self) -> (usize, Result<Lease, Refusal>) {
        loop {
            // The batch holds a sender itself, so that the channel is open as long as it lives.
            if let Some((index, answer)) = self.receiver.recv().await {
                self.claims.remove(&index);
                return (index, answer.and_then(lease));
            }
        }
    }
}

impl Drop for LeaseBatch {
    fn drop(&mut self) {
        // Before the channel closes, so that nothing is granted to a batch that is gone.
        for (_, claim) in self.claims.drain() {
            drop(self.slots.pool.shared.with_dispatch(|dispatch| dispatch.withdraw(claim)));
        }
    }
}
