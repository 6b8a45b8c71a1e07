//! Demands: the requirements in use, each with the agents that meet it and have a free unit, best first.

use std::collections::{BTreeSet, HashMap, HashSet};

use slotmap::SlotMap;

use convoke_core::SkillId;

use super::{AgentKey, DemandKey, QueueKey, free::Free, load::Load};

/// How many requirements of two or more skills are kept in use while nobody is in line for them: those used last.
///
/// Each one costs a set entry per agent that meets it, at every grant and release of that agent; a host that makes up
/// new requirements for ever must not make dispatch slower for ever.
pub(super) const IDLE_DEMANDS: usize = 32;

/// A requirement in use: all these skills, or none for any agent.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Demand {
    /// Sorted, each once.
    skills: Vec<SkillId>,
    /// The agents that have all the skills.
    pub(super) matching: usize,
    /// Those of them that are available.
    pub(super) available: usize,
    /// Those of them that have a free unit.
    pub(super) free: Free,
    /// Of those in line, one for each pool and policy.
    pub(super) queues: Vec<QueueKey>,
    last_used: u64,
}

#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct SkillEntry {
    agents: HashSet<AgentKey>,
    demands: Vec<DemandKey>,
    /// The demand for this skill alone, the common case, found without building a list.
    alone: Option<DemandKey>,
}

/// The requirements in use, found by their skills.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Demands {
    all: SlotMap<DemandKey, Demand>,
    skills: HashMap<SkillId, SkillEntry>,
    several: HashMap<Vec<SkillId>, DemandKey>,
    /// Those of several skills that nobody is in line for, by their last use.
    idle: BTreeSet<(u64, DemandKey)>,
    any: Option<DemandKey>,
    /// The one that was found last, which many ask for in turn: its skills are compared faster than found.
    latest: Option<DemandKey>,
    uses: u64,
}

/// An agent as the index of demands sees it.
pub(super) struct Candidate<'a> {
    pub(super) key: AgentKey,
    pub(super) skills: &'a BTreeSet<SkillId>,
    pub(super) available: bool,
    /// How loaded it is, if it is available and has a free unit.
    pub(super) free: Option<&'a Load>,
}

impl Demands {
    pub(super) fn get(&self, key: DemandKey) -> Option<&Demand> {
        self.all.get(key)
    }

    pub(super) fn get_mut(&mut self, key: DemandKey) -> Option<&mut Demand> {
        self.all.get_mut(key)
    }

    /// The demand for `skills` if it is in use.
    pub(super) fn find(&mut self, skills: &[SkillId]) -> Option<DemandKey> {
        let latest = self.latest.filter(|&key| self.get(key).is_some_and(|demand| demand.skills == skills));
        let key = latest.or_else(|| self.look_up(skills))?;
        self.latest = Some(key);
        if skills.len() > 1 {
            self.used(key);
        }
        Some(key)
    }

    fn look_up(&self, skills: &[SkillId]) -> Option<DemandKey> {
        match skills {
            [] => self.any,
            [skill] => self.skills.get(skill)?.alone,
            // A skill that is named twice is required once.
            _ => match sorted(skills).as_slice() {
                [skill] => self.skills.get(skill)?.alone,
                several => self.several.get(several).copied(),
            },
        }
    }

    /// Puts a demand last among the idle ones, if it is one of them.
    fn used(&mut self, key: DemandKey) {
        let Some(demand) = self.all.get_mut(key) else { return };
        self.uses += 1;
        let before = std::mem::replace(&mut demand.last_used, self.uses);
        if self.idle.remove(&(before, key)) {
            self.idle.insert((self.uses, key));
        }
    }

    /// Keeps the idle ones right after the queues of a demand have changed.
    pub(super) fn queues_changed(&mut self, key: DemandKey) {
        let Some(demand) = self.all.get(key).filter(|demand| demand.skills.len() > 1) else { return };
        let entry = (demand.last_used, key);
        if demand.queues.is_empty() {
            self.idle.insert(entry);
        } else {
            self.idle.remove(&entry);
        }
    }

    /// The agents that have the rarest of `skills`; `None` where nobody has, or no skill is named.
    pub(super) fn rarest(&self, skills: &[SkillId]) -> Option<&HashSet<AgentKey>> {
        skills
            .iter()
            .map(|skill| self.skills.get(skill).map(|entry| &entry.agents))
            .min_by_key(|agents| agents.map_or(0, HashSet::len))
            .flatten()
    }

    /// Puts a demand for `skills` in use. The caller has found the agents that meet it, and adds it to their `demands`.
    pub(super) fn insert<'a>(
        &mut self,
        skills: &[SkillId],
        agents: impl IntoIterator<Item = Candidate<'a>>,
    ) -> DemandKey {
        let skills = sorted(skills);
        self.uses += 1;
        let mut demand = Demand { skills: skills.clone(), last_used: self.uses, ..Demand::default() };
        for agent in agents {
            demand.add(&agent);
        }
        let key = self.all.insert(demand);
        for skill in &skills {
            self.skills.entry(skill.clone()).or_default().demands.push(key);
        }
        match skills.as_slice() {
            [] => self.any = Some(key),
            [skill] => self.skills.entry(skill.clone()).or_default().alone = Some(key),
            _ => {
                self.several.insert(skills, key);
                self.idle.insert((self.uses, key));
            }
        }
        key
    }

    /// The idle demand whose last use is longest ago, if too many are kept.
    pub(super) fn surplus(&self) -> Option<DemandKey> {
        let oldest = self.idle.first().map(|(_, key)| *key);
        oldest.filter(|_| self.idle.len() > IDLE_DEMANDS)
    }

    /// Takes a demand out of use.
    pub(super) fn remove(&mut self, key: DemandKey) {
        let Some(demand) = self.all.remove(key) else { return };
        self.idle.remove(&(demand.last_used, key));
        for skill in &demand.skills {
            let Some(entry) = self.skills.get_mut(skill) else { continue };
            entry.demands.retain(|&other| other != key);
            if entry.alone == Some(key) {
                entry.alone = None;
            }
            if entry.agents.is_empty() && entry.demands.is_empty() {
                self.skills.remove(skill);
            }
        }
        if demand.skills.is_empty() {
            self.any = None;
        }
        self.several.remove(&demand.skills);
    }

    /// Adds a new agent to the index; returns the demands that it meets.
    pub(super) fn add_agent(&mut self, agent: &Candidate<'_>) -> Vec<DemandKey> {
        let mut met: Vec<DemandKey> = self.any.into_iter().collect();
        for skill in agent.skills {
            let entry = self.skills.entry(skill.clone()).or_default();
            entry.agents.insert(agent.key);
            for &key in &entry.demands {
                let Some(demand) = self.all.get(key) else { continue };
                // A demand of several skills is met through its first skill only, so that it is counted once.
                if demand.skills.first() == Some(skill)
                    && demand.skills.iter().all(|one| agent.skills.contains(one))
                {
                    met.push(key);
                }
            }
        }
        for &key in &met {
            if let Some(demand) = self.all.get_mut(key) {
                demand.add(agent);
            }
        }
        met
    }

    /// Takes an agent out of the index; the demands that it met keep their queues.
    pub(super) fn remove_agent(&mut self, agent: &Candidate<'_>, met: &[DemandKey]) {
        for &key in met {
            if let Some(demand) = self.all.get_mut(key) {
                demand.matching -= 1;
                demand.available -= usize::from(agent.available);
                if let Some(load) = agent.free {
                    demand.free.remove(load);
                }
            }
        }
        for skill in agent.skills {
            if let Some(entry) = self.skills.get_mut(skill) {
                entry.agents.remove(&agent.key);
                if entry.agents.is_empty() && entry.demands.is_empty() {
                    self.skills.remove(skill);
                }
            }
        }
    }
}

impl Demand {
    fn add(&mut self, agent: &Candidate<'_>) {
        self.matching += 1;
        self.available += usize::from(agent.available);
        if let Some(load) = agent.free {
            self.free.insert(load.clone());
        }
    }

    pub(super) fn skills(&self) -> &[SkillId] {
        &self.skills
    }

    pub(super) fn is_idle_and_unmet(&self) -> bool {
        self.matching == 0 && self.queues.is_empty()
    }
}

fn sorted(skills: &[SkillId]) -> Vec<SkillId> {
    let mut skills = skills.to_vec();
    skills.sort_unstable();
    skills.dedup();
    skills
}
