//! What is in use and who is in line, for those who ask.

use super::{AgentKey, Availability, ClaimKey, Dispatch, PoolKey, pool::Queue};

/// What one agent has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentLoad {
    pub(crate) availability: Availability,
    pub(crate) active: u32,
    pub(crate) detached: u32,
    pub(crate) waiting: usize,
}

/// What one pool has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolLoad {
    pub(crate) taken: usize,
    pub(crate) waiting: usize,
}

impl<W> Dispatch<W> {
    /// The agent that a claim holds a unit of.
    pub(crate) fn agent_of(&self, key: ClaimKey) -> Option<AgentKey> {
        self.claims.get(key)?.holding()?.agent
    }

    pub(crate) fn agent_load(&self, key: AgentKey) -> Option<AgentLoad> {
        let agent = self.agents.get(key)?;
        let by_skills = agent.demands.iter().filter_map(|&demand| self.demands.get(demand));
        let queues = by_skills.flat_map(|demand| &demand.queues).chain(&agent.queues);
        // A ticket that is in line for a lent slot too is counted once.
        let is_own = |queue: &&Queue| self.pools.get(queue.pool).is_some_and(|pool| !pool.is_lent());
        Some(AgentLoad {
            availability: agent.availability,
            active: agent.load.active,
            detached: agent.detached,
            waiting: queues
                .filter_map(|&queue| self.queues.get(queue))
                .filter(is_own)
                .map(|queue| queue.tickets.len())
                .sum(),
        })
    }

    pub(crate) fn pool_load(&self, key: PoolKey) -> PoolLoad {
        self.pools.get(key).map_or(PoolLoad { taken: 0, waiting: 0 }, |pool| PoolLoad {
            taken: pool.taken,
            waiting: pool.waiting,
        })
    }
}
