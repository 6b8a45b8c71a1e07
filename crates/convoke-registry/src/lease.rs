//! Leases: units of capacity, and the slots that go with them, as owned guards.

use std::{fmt, sync::Arc};

use convoke_core::{AgentDescriptor, AgentId, CapacityPolicy, SkillId, TaskId, TaskRequest};

use crate::{
    AnyExecutor, ExecutorCapabilities, TaskClaim, WaitId,
    dispatch::{Ask, ClaimKey, PoolKey, Want},
    registry::{Entry, Shared},
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
    of: Asker<'a>,
}

/// Who asks, for the graph of who waits for whom.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asker<'a> {
    pub(crate) task: Option<&'a TaskId>,
    pub(crate) claim: Option<&'a TaskClaim>,
    pub(crate) awaited_in: Option<WaitId>,
}

impl<'a> Asker<'a> {
    pub(crate) fn ask(self, want: Want<'a>, pool: PoolKey) -> Ask<'a> {
        let awaited_in = self.awaited_in.map(|wait| wait.0);
        Ask { want, pool, task: self.task, claim: self.claim.map(TaskClaim::key), awaited_in }
    }
}

impl<'a> LeaseRequest<'a> {
    /// Any agent with all of `skills`, waited for.
    pub fn new(skills: &'a [SkillId]) -> Self {
        Self { skills, preferred: None, policy: CapacityPolicy::Wait, of: Asker::default() }
    }

    /// Names the task that asks; a refusal that tells who waits for whom needs it.
    #[must_use]
    pub fn of_task(mut self, task: &'a TaskId) -> Self {
        self.of.task = Some(task);
        self
    }

    /// Goes on with a claim that was made before.
    #[must_use]
    pub fn claimed(mut self, claim: Option<&'a TaskClaim>) -> Self {
        self.of.claim = claim;
        self
    }

    /// Says in which wait the request is awaited.
    #[must_use]
    pub fn awaited_in(mut self, wait: Option<WaitId>) -> Self {
        self.of.awaited_in = wait;
        self
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

    pub(crate) fn ask(self, pool: PoolKey) -> Ask<'a> {
        let want = Want::Agent { skills: self.skills, preferred: self.preferred, policy: self.policy };
        self.of.ask(want, pool)
    }
}

impl<'a> From<&'a TaskRequest> for LeaseRequest<'a> {
    fn from(request: &'a TaskRequest) -> Self {
        Self {
            skills: &request.required_skills,
            preferred: request.preferred_agent.as_ref(),
            policy: request.capacity,
            of: Asker::default(),
        }
    }
}

/// What was granted; dropping it gives it back, once.
pub(crate) struct Held {
    shared: Arc<Shared>,
    key: Option<ClaimKey>,
    /// Whose unit it is, until a [`Lease`] has that; `None` for a slot alone.
    pub(crate) entry: Option<Arc<Entry>>,
}

impl Held {
    pub(crate) fn new(shared: Arc<Shared>, key: ClaimKey, entry: Option<Arc<Entry>>) -> Self {
        Self { shared, key: Some(key), entry }
    }

    /// Takes the guard apart; the caller gives back what it holds.
    pub(crate) fn into_key(mut self) -> ClaimKey {
        self.key.take().unwrap_or_default()
    }

    fn mark(&self, busy: Option<u32>) -> LeaseMark {
        LeaseMark { shared: Arc::clone(&self.shared), key: self.key.unwrap_or_default(), busy }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.with_dispatch(|dispatch| dispatch.release(key));
        }
    }
}

/// A unit of an agent's capacity, and the slot that came with it. Dropping it frees both, once.
///
/// It outlives the registry handle that it came from, and the call that it was made for: work that nobody waits for any
/// more keeps it until it ends.
pub struct Lease {
    held: Held,
    entry: Arc<Entry>,
}

impl Lease {
    pub(crate) fn new(held: Held, entry: Arc<Entry>) -> Self {
        Self { held, entry }
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

    /// A hold on this lease from elsewhere, while the work has the lease itself.
    pub fn mark(&self) -> LeaseMark {
        let is_busy = !self.entry.capabilities.concurrent_execution;
        self.held.mark(is_busy.then_some(self.entry.generation))
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("agent", self.agent()).finish_non_exhaustive()
    }
}

/// A slot without a unit of an agent: of work that nobody in particular does. Dropping it frees it, once.
pub struct SlotLease(Held);

impl SlotLease {
    pub(crate) fn new(held: Held) -> Self {
        Self(held)
    }

    /// A hold on this lease from elsewhere, while the work has the lease itself.
    pub fn mark(&self) -> LeaseMark {
        self.0.mark(None)
    }
}

impl fmt::Debug for SlotLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotLease").finish_non_exhaustive()
    }
}

/// A hold on a lease, while the work has the lease itself. Nothing happens where the lease is given back already.
#[derive(Clone)]
pub struct LeaseMark {
    shared: Arc<Shared>,
    key: ClaimKey,
    /// The executor whose unit may not be used again while the work that had it goes on.
    busy: Option<u32>,
}

impl LeaseMark {
    /// Counts the lease as held by work that nobody waits for any more. A slot that it was lent goes back to the lender.
    pub fn detach(&self) {
        self.shared.with_dispatch(|dispatch| dispatch.detach(self.key));
    }

    /// Gives the slot back although the work goes on, and the unit of the agent too where its executor can work on
    /// several tasks at once; where it cannot, the unit opens when the executor is
    /// [replaced](crate::AgentRegistry::replace), or when the work ends after all. One that was replaced already keeps
    /// nothing busy.
    pub fn forfeit(&self) {
        self.shared.forfeit(self.key, self.busy);
    }

    pub(crate) fn key(&self) -> ClaimKey {
        self.key
    }
}

impl fmt::Debug for LeaseMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseMark").finish_non_exhaustive()
    }
}
