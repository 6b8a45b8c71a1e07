//! Leases: units of capacity as owned guards, the slots that go with them, and waiting for both.

use std::{collections::HashMap, fmt, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use convoke_core::{AgentDescriptor, AgentId, CapacityPolicy, SkillId, TaskRequest};

use crate::{
    AnyExecutor, ExecutorCapabilities, Refusal,
    dispatch::{Ask, LeaseKey, PoolKey, PoolLoad, TicketKey},
    registry::{Entry, Requested, Shared},
};

/// Which agent is asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LeaseRequest<'a> {
    /// It must declare all of these.
    pub skills: &'a [SkillId],
    /// This agent or none.
    pub preferred: Option<&'a AgentId>,
    /// What to do where it is full.
    pub policy: CapacityPolicy,
}

impl<'a> LeaseRequest<'a> {
    /// Any agent with all of `skills`, waited for.
    pub fn new(skills: &'a [SkillId]) -> Self {
        Self { skills, preferred: None, policy: CapacityPolicy::Wait }
    }

    /// Asks for this agent and no other.
    #[must_use]
    pub fn preferring(mut self, agent: &'a AgentId) -> Self {
        self.preferred = Some(agent);
        self
    }

    /// Sets what to do where the agent is full.
    #[must_use]
    pub fn with_policy(mut self, policy: CapacityPolicy) -> Self {
        self.policy = policy;
        self
    }

    fn ask(self, pool: PoolKey) -> Ask<'a> {
        Ask { skills: self.skills, preferred: self.preferred, policy: self.policy, pool }
    }
}

impl<'a> From<&'a TaskRequest> for LeaseRequest<'a> {
    fn from(request: &'a TaskRequest) -> Self {
        Self {
            skills: &request.required_skills,
            preferred: request.preferred_agent.as_ref(),
            policy: request.capacity,
        }
    }
}

/// A unit of an agent's capacity, and the slot that came with it. Dropping it frees both, once.
///
/// It outlives the registry handle that it came from, and the call that it was made for: work that nobody waits for any
/// more keeps it until it ends.
pub struct Lease {
    shared: Arc<Shared>,
    key: Option<LeaseKey>,
    entry: Arc<Entry>,
}

impl Lease {
    pub(crate) fn new(shared: Arc<Shared>, key: LeaseKey, entry: Arc<Entry>) -> Self {
        Self { shared, key: Some(key), entry }
    }

    /// The agent.
    pub fn agent(&self) -> &AgentId {
        self.entry.descriptor.id()
    }

    /// Who the agent is.
    pub fn descriptor(&self) -> &Arc<AgentDescriptor> {
        &self.entry.descriptor
    }

    /// What does the agent's work.
    pub fn executor(&self) -> &AnyExecutor {
        &self.entry.executor
    }

    /// What the executor says about itself.
    pub fn capabilities(&self) -> ExecutorCapabilities {
        self.entry.capabilities
    }

    /// A way to mark this lease as detached from elsewhere, while the work holds the lease itself.
    pub fn mark(&self) -> LeaseMark {
        LeaseMark { shared: Arc::clone(&self.shared), key: self.key }
    }

    /// Takes the guard apart; the caller frees the unit.
    pub(crate) fn into_key(mut self) -> LeaseKey {
        self.key.take().unwrap_or_default()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.release(key);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("agent", self.agent()).finish_non_exhaustive()
    }
}

/// Marks a lease as held by work that nobody waits for any more.
pub struct LeaseMark {
    shared: Arc<Shared>,
    key: Option<LeaseKey>,
}

impl LeaseMark {
    /// Counts the lease as detached from now on; nothing happens if it is free already.
    pub fn detach(&self) {
        if let Some(key) = self.key {
            self.shared.with_dispatch(|dispatch| dispatch.detach(key));
        }
    }
}

impl fmt::Debug for LeaseMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseMark").finish_non_exhaustive()
    }
}

/// How a limit of slots is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotUsage {
    /// The slots in use.
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
    pub async fn acquire(&self, request: LeaseRequest<'_>) -> Result<Lease, Refusal> {
        acquire(&self.pool.shared, self.pool.key, request).await
    }

    /// Many waits, answered through one queue.
    pub fn batch(&self) -> LeaseBatch {
        let (sender, receiver) = mpsc::unbounded_channel();
        LeaseBatch { slots: self.clone(), tickets: HashMap::new(), sender, receiver }
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("usage", &self.usage()).finish()
    }
}

/// How whoever waits is reached.
#[derive(Debug)]
pub(crate) enum Waiter {
    One(oneshot::Sender<Result<Lease, Refusal>>),
    OfBatch(usize, mpsc::UnboundedSender<(usize, Result<Lease, Refusal>)>),
}

impl Waiter {
    /// Hands the answer over, or back if nobody waits for it any more.
    pub(crate) fn tell(self, answer: Result<Lease, Refusal>) -> Result<(), Result<Lease, Refusal>> {
        match self {
            Self::One(sender) => sender.send(answer),
            Self::OfBatch(index, sender) => sender.send((index, answer)).map_err(|unsent| unsent.0.1),
        }
    }
}

/// A wait that ends when it is dropped.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    ticket: TicketKey,
    answer: oneshot::Receiver<Result<Lease, Refusal>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.with_dispatch(|dispatch| dispatch.withdraw(self.ticket));
    }
}

pub(crate) async fn acquire(
    shared: &Arc<Shared>,
    pool: PoolKey,
    request: LeaseRequest<'_>,
) -> Result<Lease, Refusal> {
    let mut receiver = None;
    let requested = shared.request(request.ask(pool), || {
        let (sender, answer) = oneshot::channel();
        receiver = Some(answer);
        Waiter::One(sender)
    })?;
    match (requested, receiver) {
        (Requested::Granted(lease), _) => Ok(lease),
        (Requested::Queued(ticket), Some(answer)) => {
            let mut waiting = Waiting { shared, ticket, answer };
            // The machine keeps the sender until it answers, so that the channel cannot close before.
            (&mut waiting.answer).await.unwrap_or(Err(Refusal::AgentUnavailable { agent: None }))
        }
        (Requested::Queued(_), None) => Err(Refusal::AgentUnavailable { agent: None }),
    }
}

/// Many waits, answered through one queue in the order of the grants. Dropping it ends them all and leaves no trace.
#[derive(Debug)]
pub struct LeaseBatch {
    slots: Slots,
    tickets: HashMap<usize, TicketKey>,
    sender: mpsc::UnboundedSender<(usize, Result<Lease, Refusal>)>,
    receiver: mpsc::UnboundedReceiver<(usize, Result<Lease, Refusal>)>,
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
            Requested::Granted(lease) => Ok(Some(lease)),
            Requested::Queued(ticket) => {
                if let Some(earlier) = self.tickets.insert(index, ticket) {
                    drop(pool.shared.with_dispatch(|dispatch| dispatch.withdraw(earlier)));
                }
                Ok(None)
            }
        }
    }

    /// Ends the wait under `index`; says whether it was still on. If it was not, its answer is on its way.
    pub fn withdraw(&mut self, index: usize) -> bool {
        let ticket = self.tickets.remove(&index);
        let withdrawn =
            ticket.map(|ticket| self.slots.pool.shared.with_dispatch(|dispatch| dispatch.withdraw(ticket)));
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
                self.tickets.remove(&index);
                return (index, answer);
            }
        }
    }
}

impl Drop for LeaseBatch {
    fn drop(&mut self) {
        // Before the channel closes, so that nothing is granted to a batch that is gone.
        for (_, ticket) in self.tickets.drain() {
            drop(self.slots.pool.shared.with_dispatch(|dispatch| dispatch.withdraw(ticket)));
        }
    }
}
