//! Requirements as requests name them: put in use, found hopeless, taken out of use.

use convoke_core::SkillId;

use super::{AgentKey, DemandKey, Dispatch, Refusal, agent::Agent};

impl<W> Dispatch<W> {
    /// The demand for these skills, put in use if it is not.
    pub(super) fn demand(&mut self, skills: &[SkillId]) -> DemandKey {
        if let Some(demand) = self.demands.find(skills) {
            return demand;
        }
        let keys = self.with_skills(skills);
        let candidates = keys.iter().filter_map(|&key| Some(self.agents.get(key)?.candidate(key)));
        let demand = self.demands.insert(skills, candidates);
        for key in keys {
            if let Some(agent) = self.agents.get_mut(key) {
                agent.demands.push(demand);
            }
        }
        self.retire_surplus();
        demand
    }

    /// The agents that have all of these skills.
    pub(crate) fn with_skills(&self, skills: &[SkillId]) -> Vec<AgentKey> {
        let has_all = |agent: &Agent| skills.iter().all(|one| agent.skills.contains(one));
        let found = self.demands.matching(skills, |key| self.agents.get(key).is_some_and(has_all));
        found.unwrap_or_else(|| self.agents.keys().collect())
    }

    /// The agents that meet a demand in use.
    pub(super) fn agents_of(&self, demand: DemandKey) -> Vec<&Agent> {
        let Some(demand) = self.demands.get(demand) else { return Vec::new() };
        self.with_skills(demand.skills()).into_iter().filter_map(|key| self.agents.get(key)).collect()
    }

    /// Takes out of use what nobody waits for and what was not asked for lately.
    pub(super) fn retire_surplus(&mut self) {
        while let Some(surplus) = self.demands.surplus() {
            self.retire(surplus);
        }
    }

    /// Why nobody can ever serve a demand as things stand, or `None`.
    pub(super) fn refusal(&mut self, key: DemandKey) -> Option<Refusal> {
        let demand = self.demands.get(key)?;
        if demand.matching == 0 {
            let skills = demand.skills().to_vec();
            if demand.queues.is_empty() {
                self.retire(key);
            }
            Some(Refusal::CapabilityNotFound { agent: None, skills })
        } else if demand.available == 0 {
            Some(Refusal::AgentUnavailable { agent: None })
        } else {
            None
        }
    }

    pub(super) fn retire(&mut self, key: DemandKey) {
        if let Some(demand) = self.demands.get(key) {
            let met = self
                .demands
                .matching(demand.skills(), |_| true)
                .unwrap_or_else(|| self.agents.keys().collect());
            for agent in met {
                if let Some(agent) = self.agents.get_mut(agent) {
                    agent.demands.retain(|&other| other != key);
                }
            }
        }
        self.demands.remove(key);
    }

    /// Refuses all who wait for a demand that nobody can serve any more.
    pub(super) fn recheck(&mut self, demand: DemandKey) {
        if let Some(refusal) = self.refusal(demand) {
            let queues = self.demands.get(demand).map(|demand| demand.queues.clone()).unwrap_or_default();
            for queue in queues {
                self.refuse(queue, &refusal);
            }
        }
    }
}
