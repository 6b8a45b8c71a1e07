//! The registry: agents by id, and the lock around the dispatch machine.

use std::{collections::BTreeSet, fmt, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use slotmap::SecondaryMap;

use convoke_core::{AgentDescriptor, AgentId, IdError, SkillId, TaskId};

use crate::{
    AgentExecutor, AnyExecutor, Availability, ExecutorCapabilities, Lease, LeaseRequest, Refusal, Slots,
    TaskClaim,
    dispatch::{AgentKey, AgentLoad, Ask, ClaimKey, Decision, Dispatch, Effect, PoolKey},
    lease::Held,
    running::RefusedWait,
    slots::{self, Waiter},
};

/// Why the registry refuses a change; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The descriptor holds a bad id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The id is taken.
    #[error("agent `{agent}` is registered already; remove it first, or choose another id")]
    Duplicate {
        /// The agent.
        agent: AgentId,
    },
    /// A skill is declared twice.
    #[error("agent `{agent}` declares skill `{skill}` twice; declare it once")]
    RepeatedSkill {
        /// The agent.
        agent: AgentId,
        /// The skill.
        skill: SkillId,
    },
    /// The agent could never work.
    #[error("agent `{agent}` has `max_concurrency` 0; give it at least 1, or set it offline")]
    ZeroConcurrency {
        /// The agent.
        agent: AgentId,
    },
    /// The executor works on one task at a time.
    #[error(
        "agent `{agent}` has `max_concurrency` {max_concurrency}, but its executor works on one task at a \
         time; set it to 1"
    )]
    NotConcurrent {
        /// The agent.
        agent: AgentId,
        /// What its descriptor asks for.
        max_concurrency: u32,
    },
    /// The id is not registered.
    #[error("agent `{agent}` is not registered; `list` says who is")]
    Unknown {
        /// The id as given.
        agent: String,
    },
    /// The agent has work under way, or its executor is still busy with work that was
    /// [given up](crate::LeaseMark::forfeit). Where that never ends, [`AgentRegistry::replace`] frees what it holds.
    #[error("agent `{agent}` has {active} leases held; keep it draining, and remove it once they have ended")]
    Busy {
        /// The agent.
        agent: AgentId,
        /// How many leases it holds, also for detached work, and for given-up work that keeps its executor busy.
        active: u32,
    },
}

/// An agent as it stands: what a registry knows of it at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentSnapshot {
    /// Who it is.
    pub descriptor: Arc<AgentDescriptor>,
    /// What its executor says about itself.
    pub capabilities: ExecutorCapabilities,
    /// Whether it takes new work.
    pub availability: Availability,
    /// The units of its capacity in use, detached work included.
    pub active: u32,
    /// Those of them held by work that nobody waits for any more.
    pub detached: u32,
    /// How many requests wait that it could serve.
    pub waiting: usize,
    /// Its place in the order of registration, from 0.
    pub order: u64,
}

impl AgentSnapshot {
    /// The units of its capacity that are free.
    pub fn free(&self) -> u32 {
        self.descriptor.max_concurrency.saturating_sub(self.active)
    }
}

/// An agent as its leases hold it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) descriptor: Arc<AgentDescriptor>,
    pub(crate) executor: AnyExecutor,
    pub(crate) capabilities: ExecutorCapabilities,
    order: u64,
    /// How many executors the agent had before.
    pub(crate) generation: u32,
}

/// Agents with their executors, and who of them is free. Cloning shares it.
///
/// ```
/// use convoke_core::AgentDescriptor;
/// use convoke_registry::{AgentRegistry, Availability, FunctionExecutor};
///
/// # fn main() -> Result<(), convoke_registry::RegistryError> {
/// let registry = AgentRegistry::new();
/// registry.add(
///     AgentDescriptor::new("reviewer").with_skill("review"),
///     FunctionExecutor::new(|request, _ctx| async move { Ok(format!("read: {}", request.input)) }),
/// )?;
/// registry.set_availability("reviewer", Availability::Draining)?;
/// assert_eq!(registry.list()[0].availability, Availability::Draining);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentRegistry {
    pub(crate) shared: Arc<Shared>,
}

/// What registry, leases and waits share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// The pool of leases that take no slot: its limit is never reached.
    pub(crate) unlimited: PoolKey,
}

struct State {
    dispatch: Dispatch<Waiter>,
    entries: SecondaryMap<AgentKey, Arc<Entry>>,
    /// Given up work whose unit opens when its executor is replaced. Such an executor does one thing at a time.
    forfeited: SecondaryMap<AgentKey, ClaimKey>,
    /// Where those hear it who await a task that was there before.
    refused_waits: SecondaryMap<ClaimKey, Arc<RefusedWait>>,
    next_order: u64,
}

impl AgentRegistry {
    /// A registry without agents.
    pub fn new() -> Self {
        let mut dispatch = Dispatch::new();
        let unlimited = dispatch.open_pool(usize::MAX);
        let state = State {
            dispatch,
            entries: SecondaryMap::new(),
            forfeited: SecondaryMap::new(),
            refused_waits: SecondaryMap::new(),
            next_order: 0,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), unlimited }) }
    }

    /// Registers an agent, available at once. Requests that wait and that it can serve are served.
    ///
    /// # Errors
    ///
    /// A bad or taken id, a bad or repeated skill, no capacity, or more of it than the executor can use; the registry is
    /// as before.
    pub fn add(
        &self,
        descriptor: AgentDescriptor,
        executor: impl AgentExecutor,
    ) -> Result<(), RegistryError> {
        descriptor.check()?;
        let agent = descriptor.id().clone();
        let mut skills = BTreeSet::new();
        for skill in &descriptor.skills {
            if !skills.insert(skill.id.clone()) {
                return Err(RegistryError::RepeatedSkill { agent, skill: skill.id.clone() });
            }
        }
        let max_concurrency = descriptor.max_concurrency;
        if max_concurrency == 0 {
            return Err(RegistryError::ZeroConcurrency { agent });
        }
        let executor = AnyExecutor::new(executor);
        let capabilities = executor.capabilities();
        check_concurrency(&descriptor, capabilities)?;
        let descriptor = Arc::new(descriptor);
        let mut entry = Some(Entry { descriptor, executor, capabilities, order: 0, generation: 0 });
        let registered = self.shared.change(|state| {
            // Registering grants at once, and a grant needs the entry: the machine keeps the grant until we ask.
            let key = state.dispatch.register(agent.clone(), skills, max_concurrency)?;
            let order = state.next_order;
            state.next_order += 1;
            if let Some(entry) = entry.take() {
                state.entries.insert(key, Arc::new(Entry { order, ..entry }));
            }
            Some(())
        });
        // What was not registered is the host's code: it is dropped here, outside the lock.
        registered.ok_or(RegistryError::Duplicate { agent })
    }

    /// Sets whether an agent takes new work; running leases are untouched. Requests that wait are served, or refused
    /// where nobody is left for them.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Unknown`].
    pub fn set_availability(
        &self,
        agent: impl AsRef<str>,
        availability: Availability,
    ) -> Result<(), RegistryError> {
        let agent = agent.as_ref();
        self.shared.change(|state| {
            let key = state.find(agent)?;
            state.dispatch.set_availability(key, availability);
            Ok(())
        })
    }

    /// Gives an agent another executor, for new work only: what runs goes on with the one that it has. Units of its
    /// capacity that [given up](crate::LeaseMark::forfeit) work of the old one still had are free from now on.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Unknown`], or [`RegistryError::NotConcurrent`] where the new one cannot use the agent's capacity;
    /// the agent is as before.
    pub fn replace(&self, agent: impl AsRef<str>, executor: impl AgentExecutor) -> Result<(), RegistryError> {
        let agent = agent.as_ref();
        let executor = AnyExecutor::new(executor);
        let capabilities = executor.capabilities();
        let mut executor = Some(executor);
        let before = self.shared.change(|state| {
            let key = state.find(agent)?;
            let unknown = || RegistryError::Unknown { agent: agent.to_owned() };
            let entry = state.entries.get_mut(key).ok_or_else(unknown)?;
            check_concurrency(&entry.descriptor, capabilities)?;
            let executor = executor.take().ok_or_else(unknown)?;
            let replaced = Entry {
                descriptor: Arc::clone(&entry.descriptor),
                executor,
                capabilities,
                order: entry.order,
                generation: entry.generation.wrapping_add(1),
            };
            let before = std::mem::replace(entry, Arc::new(replaced));
            if let Some(claim) = state.forfeited.remove(key) {
                state.dispatch.release(claim);
            }
            Ok(before)
        });
        // Which of the two it is that goes, it is the host's code: it is dropped here, outside the lock.
        before.map(drop)
    }

    /// Removes an agent that has no work under way. Requests that wait for it alone are refused.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Unknown`], or [`RegistryError::Busy`] while a lease lives. That of work which was
    /// [given up](crate::LeaseMark::forfeit) may never end: [`replace`](Self::replace) the executor first.
    pub fn remove(&self, agent: impl AsRef<str>) -> Result<(), RegistryError> {
        let agent = agent.as_ref();
        let entry = self.shared.change(|state| {
            let key = state.find(agent)?;
            if state.dispatch.remove(key) {
                return Ok(state.entries.remove(key));
            }
            let active = state.dispatch.agent_load(key).map_or(0, |load| load.active);
            Err(match state.entries.get(key) {
                Some(entry) => RegistryError::Busy { agent: entry.descriptor.id().clone(), active },
                None => RegistryError::Unknown { agent: agent.to_owned() },
            })
        })?;
        // The executor is the host's code: it is dropped outside the lock.
        drop(entry);
        Ok(())
    }

    /// The agent with this id.
    pub fn get(&self, agent: impl AsRef<str>) -> Option<AgentSnapshot> {
        let state = self.shared.state.lock();
        let key = state.dispatch.find(agent.as_ref())?;
        state.snapshot(key)
    }

    /// All agents, by id.
    pub fn list(&self) -> Vec<AgentSnapshot> {
        self.find(&[])
    }

    /// The agents that have all of `skills`, whatever their availability, by id. Looks only at those that have the rarest
    /// of them.
    pub fn find(&self, skills: &[SkillId]) -> Vec<AgentSnapshot> {
        let state = self.shared.state.lock();
        let found = state.dispatch.with_skills(skills);
        let mut agents: Vec<_> = found.filter_map(|key| state.snapshot(key)).collect();
        drop(state);
        agents.sort_unstable_by(|one, other| one.descriptor.id().cmp(other.descriptor.id()));
        agents
    }

    /// The ids of the available agents that have all of `skills`, in their order. Otherwise as [`find`](Self::find).
    pub fn find_available(&self, skills: &[SkillId]) -> Vec<AgentId> {
        let state = self.shared.state.lock();
        let mut agents: Vec<_> = state.dispatch.available(skills).cloned().collect();
        drop(state);
        agents.sort_unstable();
        agents
    }

    /// Takes a unit of an agent's capacity outside any limit of slots; waits for one where the request says so.
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
        slots::acquire(&self.shared, self.shared.unlimited, request)
    }

    /// A limit of `limit` slots: leases that are acquired through it take one each. A limit of 0 grants nothing, and who
    /// waits for it waits until the future is dropped.
    pub fn slots(&self, limit: usize) -> Slots {
        let pool = self.shared.change(|state| state.dispatch.open_pool(limit));
        Slots::new(Arc::clone(&self.shared), pool)
    }
}

fn check_concurrency(
    descriptor: &AgentDescriptor,
    capabilities: ExecutorCapabilities,
) -> Result<(), RegistryError> {
    let max_concurrency = descriptor.max_concurrency;
    if max_concurrency > 1 && !capabilities.concurrent_execution {
        return Err(RegistryError::NotConcurrent { agent: descriptor.id().clone(), max_concurrency });
    }
    Ok(())
}

impl Default for AgentRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AgentRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRegistry").field("agents", &self.list()).finish()
    }
}

impl State {
    fn find(&self, agent: &str) -> Result<AgentKey, RegistryError> {
        self.dispatch.find(agent).ok_or_else(|| RegistryError::Unknown { agent: agent.to_owned() })
    }

    fn snapshot(&self, key: AgentKey) -> Option<AgentSnapshot> {
        let AgentLoad { availability, active, detached, waiting } = self.dispatch.agent_load(key)?;
        let entry = self.entries.get(key)?;
        Some(AgentSnapshot {
            descriptor: Arc::clone(&entry.descriptor),
            capabilities: entry.capabilities,
            availability,
            active,
            detached,
            waiting,
            order: entry.order,
        })
    }
}

/// What a request gets at once.
pub(crate) enum Requested {
    Granted(Held),
    Queued(ClaimKey),
}

/// What is to be told, outside the lock.
enum Delivery {
    /// To who waits for a lease.
    Answer(Waiter, Result<Held, Refusal>),
    /// To who awaits a task that goes on.
    Unawaited(Arc<RefusedWait>, Refusal),
}

impl Shared {
    /// Calls the machine under the lock, then tells those who wait what came of it, outside the lock.
    pub(crate) fn with_dispatch<T>(self: &Arc<Self>, call: impl FnOnce(&mut Dispatch<Waiter>) -> T) -> T {
        self.change(|state| call(&mut state.dispatch))
    }

    /// Grants, queues or refuses a request; `waiter` is made only if it is queued.
    pub(crate) fn request(
        self: &Arc<Self>,
        ask: Ask<'_>,
        waiter: impl FnOnce() -> Waiter,
    ) -> Result<Requested, Refusal> {
        self.change(|state| match state.dispatch.request(ask, waiter)? {
            Decision::Queued(claim) => Ok(Requested::Queued(claim)),
            Decision::Granted(claim, agent) => Ok(Requested::Granted(self.held(state, claim, agent))),
        })
    }

    fn held(self: &Arc<Self>, state: &State, claim: ClaimKey, agent: Option<AgentKey>) -> Held {
        let entry = agent.and_then(|agent| state.entries.get(agent)).map(Arc::clone);
        Held::new(Arc::clone(self), claim, entry)
    }

    /// Makes a claim of a task that is not in line yet.
    pub(crate) fn claim(self: &Arc<Self>, task: &TaskId, pool: PoolKey) -> TaskClaim {
        let refused = Arc::<RefusedWait>::default();
        let key = self.change(|state| {
            let key = state.dispatch.claim(Some(task.clone()), pool);
            state.refused_waits.insert(key, Arc::clone(&refused));
            key
        });
        TaskClaim::new(Arc::clone(self), key, refused)
    }

    /// Ends a claim if it was granted nothing.
    pub(crate) fn end_claim(self: &Arc<Self>, key: ClaimKey) {
        self.change(|state| {
            state.refused_waits.remove(key);
            // The waiter is dropped outside the lock.
            state.dispatch.withdraw(key)
        });
    }

    fn change<T>(self: &Arc<Self>, call: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = call(&mut state);
        if state.dispatch.has_effects() {
            self.tell(state);
        }
        result
    }

    /// Tells those who wait what came of a call, outside the lock.
    fn tell(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut deliveries = self.deliveries(&mut state);
        drop(state);
        // A grant whose waiter is gone goes back, which may grant again: a loop, where dropping it would recurse.
        while let Some(delivery) = deliveries.pop() {
            match delivery {
                Delivery::Answer(waiter, answer) => {
                    if let Err(Ok(held)) = waiter.tell(answer) {
                        let (key, mut state) = (held.into_key(), self.state.lock());
                        state.dispatch.release(key);
                        deliveries.extend(self.deliveries(&mut state));
                    }
                }
                Delivery::Unawaited(refused, refusal) => refused.tell(refusal),
            }
        }
    }

    /// What is to be told, the first at the end.
    fn deliveries(self: &Arc<Self>, state: &mut State) -> Vec<Delivery> {
        let effects = state.dispatch.take_effects();
        let deliver = |effect| match effect {
            Effect::Refused { waiter, refusal } => Some(Delivery::Answer(waiter, Err(refusal))),
            Effect::Granted { waiter, claim, agent } => {
                Some(Delivery::Answer(waiter, Ok(self.held(state, claim, agent))))
            }
            Effect::Unawaited { claim, refusal } => {
                let refused = Arc::clone(state.refused_waits.get(claim)?);
                Some(Delivery::Unawaited(refused, refusal))
            }
        };
        effects.into_iter().rev().filter_map(deliver).collect()
    }

    /// Gives up work that goes on: its slot is free, and its unit too, unless it keeps the agent's executor `busy`; then
    /// the unit is free once that is replaced.
    pub(crate) fn forfeit(self: &Arc<Self>, claim: ClaimKey, busy: Option<u32>) {
        self.change(|state| {
            let agent = state.dispatch.agent_of(claim).filter(|&agent| {
                let now = state.entries.get(agent).map(|entry| entry.generation);
                busy.is_some() && busy == now
            });
            let Some(agent) = agent else { return state.dispatch.release(claim) };
            state.dispatch.forfeit_slot(claim);
            state.forfeited.insert(agent, claim);
        });
    }
}
