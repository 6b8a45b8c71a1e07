//! Requirements as requests name them: put in use, found hopeless, taken out of use.

use convoke_core::{AgentId, SkillId};

use super::{AgentKey, DemandKey, Dispatch, Refusal, agent::Agent, demand::Demand};

impl<W> Dispatch<W> {
    /// The demand for these skills, put in use if it is not.
    pub(super) fn demand_for(&mut self, skills: &[SkillId]) -> DemandKey {
        if let Some(demand) = self.demands.find(skills) {
            return demand;
        }
        let keys: Vec<_> = self.with_skills(skills).collect();
        let candidates = keys.iter().filter_map(|&key| Some(self.agents.get(key)?.candidate()));
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
    pub(crate) fn with_skills(&self, skills: &[SkillId]) -> impl Iterator<Item = AgentKey> {
        let all = skills.is_empty().then(|| self.agents.keys());
        let rarest = self.demands.rarest(skills);
        let found = all.into_iter().flatten().chain(rarest.into_iter().flatten().copied());
        // One skill is the rarest itself.
        found.filter(move |&key| {
            skills.len() < 2
                || self
                    .agents
                    .get(key)
                    .is_some_and(|agent| skills.iter().all(|one| agent.skills.contains(one)))
        })
    }

    /// The available ones of them.
    pub(crate) fn available(&self, skills: &[SkillId]) -> impl Iterator<Item = &AgentId> {
        let agents = self.with_skills(skills).filter_map(|key| self.agents.get(key));
        agents.filter(|agent| agent.is_available()).map(|agent| &agent.load.id)
    }

    /// The agents that meet a demand in use.
    pub(super) fn agents_of(&self, demand: DemandKey) -> impl Iterator<Item = &Agent> {
        let skills = self.demands.get(demand).map(Demand::skills);
        let found = skills.into_iter().flat_map(|skills| self.with_skills(skills));
        found.filter_map(|key| self.agents.get(key))
    }

    /// Takes out of use what nobody is in line for and has not asked for lately.
    pub(super) fn retire_surplus(&mut self) {
        while let Some(surplus) = self.demands.surplus() {
            self.retire(surplus);
        }
    }

    /// Why nobody can ever serve a demand as things stand, or `None`.
    pub(super) fn hopeless(&self, key: DemandKey) -> Option<Refusal> {
        let demand = self.demands.get(key)?;
        if demand.matching == 0 {
            Some(Refusal::CapabilityNotFound { agent: None, skills: demand.skills().to_vec() })
        } else if demand.available == 0 {
            Some(Refusal::AgentUnavailable { agent: None })
        } else {
            None
        }
    }

    /// Takes a demand out of use that no agent meets, unless somebody is in line for it.
    pub(super) fn retire_if_unmet(&mut self, key: DemandKey) {
        if self.demands.get(key).is_some_and(Demand::is_idle_and_unmet) {
            self.retire(key);
        }
    }

    fn retire(&mut self, key: DemandKey) {
        if let Some(demand) = self.demands.get(key) {
            let met: Vec<_> = self.with_skills(demand.skills()).collect();
            for agent in met {
                if let Some(agent) = self.agents.get_mut(agent) {
                    agent.demands.retain(|&other| other != key);
                }
            }
        }
        self.demands.remove(key);
    }

    /// Refuses all who are in line for a demand that nobody can serve any more.
    pub(super) fn refuse_if_hopeless(&mut self, demand: DemandKey) {
        if let Some(refusal) = self.hopeless(demand) {
            let queues = self.demands.get(demand).map(|demand| demand.queues.clone()).unwrap_or_default();
            for queue in queues {
                self.refuse_queue(queue, &refusal);
            }
            self.retire_if_unmet(demand);
        }
    }
}
