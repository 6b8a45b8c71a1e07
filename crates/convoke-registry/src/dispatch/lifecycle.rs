//! Agents come and go, and take work or none.

use std::collections::BTreeSet;

use convoke_core::{AgentId, SkillId};

use super::{AgentKey, Availability, Dispatch, Refusal, agent::Agent, load::Load, pool::Target};

impl<W> Dispatch<W> {
    /// Adds an agent; `None` if its id is taken.
    pub(crate) fn register(&mut self, id: AgentId, skills: BTreeSet<SkillId>, max: u32) -> Option<AgentKey> {
        if self.by_id.contains_key(&id) {
            return None;
        }
        let load = |key| Load { active: 0, max, id: id.clone(), key };
        let key = self.agents.insert_with_key(|key| Agent::new(load(key), skills));
        self.by_id.insert(id, key);
        if let Some(agent) = self.agents.get_mut(key) {
            agent.demands = self.demands.add_agent(&agent.candidate());
            agent.is_listed = agent.is_free();
        }
        self.refresh_queues_of(key);
        self.grant();
        Some(key)
    }

    pub(crate) fn find(&self, id: &str) -> Option<AgentKey> {
        self.by_id.get(id).copied()
    }

    /// Removes an agent that holds no lease; says whether it did.
    pub(crate) fn remove(&mut self, key: AgentKey) -> bool {
        if self.agents.get(key).is_none_or(|agent| agent.load.active > 0) {
            return false;
        }
        let Some(agent) = self.agents.remove(key) else { return false };
        self.by_id.remove(&agent.load.id);
        self.demands.remove_agent(&agent.candidate(), &agent.demands);
        for queue in agent.queues {
            self.refuse_queue(queue, &Refusal::AgentNotFound { agent: agent.load.id.clone() });
        }
        for demand in agent.demands {
            self.refuse_if_hopeless(demand);
            // As `refresh_queues_of` would, were the agent still there.
            for queue in self.queues_of(Target::AnyWith(demand)).to_vec() {
                self.refresh_queue(queue);
            }
        }
        self.refuse_endless();
        self.grant();
        true
    }

    /// Sets whether an agent takes new work.
    pub(crate) fn set_availability(&mut self, key: AgentKey, availability: Availability) {
        let Some(agent) = self.agents.get_mut(key) else { return };
        let (was, active) = (agent.is_available(), agent.load.active);
        agent.availability = availability;
        let is = agent.is_available();
        if was == is {
            return;
        }
        let (agent_id, demands, queues) =
            (agent.load.id.clone(), agent.demands.clone(), agent.queues.clone());
        for &demand in &demands {
            if let Some(demand) = self.demands.get_mut(demand) {
                demand.available = demand.available + usize::from(is) - usize::from(was);
            }
        }
        if !is {
            // Before the agent leaves the free ones: who loses the last agent hears that, not that it is full.
            let refusal = Refusal::AgentUnavailable { agent: Some(agent_id) };
            for queue in queues {
                self.refuse_queue(queue, &refusal);
            }
            for demand in demands {
                self.refuse_if_hopeless(demand);
            }
        }
        // The number stays; what changes is whether the agent is free.
        self.set_active(key, active);
        if !is {
            self.refuse_endless();
        }
        self.grant();
    }
}
