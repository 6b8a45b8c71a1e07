//! `acquire`: leases taken and given back, among many agents.
//!
//! There are 50 skills; the requests name them in turn, so that every skill is asked for. A few leases are held at a time,
//! so that it is not always the same agent's turn. Floor: for each lease a hash look-up of the requirement, the first of
//! its ordered map, and one removal and one insertion in the map of each skill that the agent has; the same to give it
//! back. The requirement of two skills has a map of its own, which is one more to keep.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    hint::black_box,
    ops::Range,
};

use anyhow::{Context as _, Result};

use convoke::{IdError, LeaseRequest, SkillId, prelude::*};

use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

const SKILLS: usize = 50;

/// How many leases are held at a time.
const HELD: usize = 64;

/// How many leases an agent can have: so many that nobody waits.
const ROOM: u32 = 64;

/// How many agents have both skills of [`PAIR`], where each of the two is had by a fifth of all.
const INTERSECTION: usize = 4;

const PAIR: [usize; 2] = [0, 25];

const ONE_SKILL: Case = Case {
    benchmark: "acquire",
    variant: "1 skill",
    size: Size::Agents { units: 20_000 },
    clock: Clock::Thread,
    sizes: &[100, 10_000, 100_000],
    small: &[100, 1_000],
    floor: Side::new(|agents| floor(ONE, agents)),
    work: Side::new(|agents| work(ONE, agents)),
};

pub(super) const CASES: [Case; 3] = [
    ONE_SKILL,
    Case {
        variant: "10 skills",
        floor: Side::new(|agents| floor(TEN, agents)),
        work: Side::new(|agents| work(TEN, agents)),
        ..ONE_SKILL
    },
    Case {
        variant: "2 of 10 skills",
        floor: Side::new(|agents| floor(TWO_OF_TEN, agents)),
        work: Side::new(|agents| work(TWO_OF_TEN, agents)),
        ..ONE_SKILL
    },
];

/// Who has what, and what is asked for.
#[derive(Clone, Copy)]
struct Setting {
    skills_each: usize,
    asks_for_pair: bool,
}

const ONE: Setting = Setting { skills_each: 1, asks_for_pair: false };
const TEN: Setting = Setting { skills_each: 10, asks_for_pair: false };
const TWO_OF_TEN: Setting = Setting { skills_each: 10, asks_for_pair: true };

impl Setting {
    /// The skills of an agent: neighbours on a ring.
    fn skills_of(self, agent: usize) -> Vec<usize> {
        let mut skills: Vec<_> = (0..self.skills_each).map(|offset| (agent + offset) % SKILLS).collect();
        // The first agents begin the pair, and have its other half instead of their last.
        if self.asks_for_pair
            && agent.is_multiple_of(SKILLS)
            && agent / SKILLS < INTERSECTION
            && let Some(last) = skills.last_mut()
        {
            *last = PAIR[1];
        }
        skills
    }

    /// The requirements that are asked for, each named by its place.
    fn asked(self) -> Range<usize> {
        if self.asks_for_pair { SKILLS..SKILLS + 1 } else { 0..SKILLS }
    }
}

/// Each skill alone, then the pair.
fn requirements() -> Result<Vec<Vec<SkillId>>> {
    let alone = (0..SKILLS).map(|skill| vec![skill]);
    let named = |skill: usize| SkillId::new(format!("skill-{skill}"));
    let all = alone.chain([PAIR.to_vec()]).map(|skills| skills.into_iter().map(named).collect());
    Ok(all.collect::<Result<_, IdError>>()?)
}

fn work(setting: Setting, agents: usize) -> Preparing {
    Box::pin(async move {
        let registry = AgentRegistry::new();
        for agent in 0..agents {
            let mut descriptor = AgentDescriptor::new(format!("agent-{agent:06}")).with_max_concurrency(ROOM);
            for skill in setting.skills_of(agent) {
                descriptor = descriptor.with_skill(format!("skill-{skill}"));
            }
            registry.add(descriptor, FunctionExecutor::new(|request, _ctx| async { Ok(request.input) }))?;
        }
        let requirements = requirements()?;
        // Asked for once before, so that finding out who meets a requirement is no part of the measure.
        for requirement in requirements.iter().take(SKILLS + usize::from(setting.asks_for_pair)) {
            drop(registry.acquire(LeaseRequest::new(requirement)).await?);
        }
        Ok::<Prepared, _>(Box::pin(lease(registry, requirements, setting, units())))
    })
}

fn units() -> usize {
    ONE_SKILL.size.units(0)
}

async fn lease(
    registry: AgentRegistry,
    requirements: Vec<Vec<SkillId>>,
    setting: Setting,
    units: usize,
) -> Result<Leftover> {
    let mut held = VecDeque::with_capacity(HELD + 1);
    for asked in setting.asked().cycle().take(units) {
        let requirement = requirements.get(asked).context("no such requirement")?;
        held.push_back(registry.acquire(LeaseRequest::new(requirement)).await?);
        if held.len() > HELD {
            black_box(held.pop_front());
        }
    }
    Ok(Box::new((held, registry)))
}

/// The agents of each requirement in the order of their load, and nothing else.
struct Loads {
    /// Where each requirement has its map.
    places: HashMap<Vec<SkillId>, usize>,
    by_load: Vec<BTreeSet<(u32, usize)>>,
    agents: Vec<(u32, Vec<usize>)>,
}

impl Loads {
    fn new(setting: Setting, agents: usize) -> Self {
        let mut loads = Self {
            places: HashMap::new(),
            by_load: vec![BTreeSet::new(); SKILLS + 1],
            agents: Vec::with_capacity(agents),
        };
        for agent in 0..agents {
            let mut places = setting.skills_of(agent);
            if setting.asks_for_pair && PAIR.iter().all(|skill| places.contains(skill)) {
                places.push(SKILLS);
            }
            loads.agents.push((0, places));
            loads.each_map(agent, |map, load| {
                map.insert((load, agent));
            });
        }
        loads
    }

    fn each_map(&mut self, agent: usize, mut change: impl FnMut(&mut BTreeSet<(u32, usize)>, u32)) {
        let Some((load, places)) = self.agents.get(agent) else { return };
        for &place in places {
            if let Some(map) = self.by_load.get_mut(place) {
                change(map, *load);
            }
        }
    }

    /// Moves an agent to another load, in the map of each skill that it has.
    fn change(&mut self, agent: usize, change: impl Fn(u32) -> u32) {
        self.each_map(agent, |map, load| {
            map.remove(&(load, agent));
            map.insert((change(load), agent));
        });
        if let Some((load, _)) = self.agents.get_mut(agent) {
            *load = change(*load);
        }
    }

    fn acquire(&mut self, requirement: &[SkillId]) -> Option<usize> {
        let &place = self.places.get(requirement)?;
        let &(_, agent) = self.by_load.get(place)?.first()?;
        self.change(agent, |load| load + 1);
        Some(agent)
    }
}

fn floor(setting: Setting, agents: usize) -> Preparing {
    Box::pin(async move {
        let mut loads = Loads::new(setting, agents);
        let requirements = requirements()?;
        loads.places = requirements.iter().cloned().zip(0..).collect();
        Ok::<Prepared, _>(Box::pin(async move { update(loads, &requirements, setting, units()) }))
    })
}

fn update(
    mut loads: Loads,
    requirements: &[Vec<SkillId>],
    setting: Setting,
    units: usize,
) -> Result<Leftover> {
    let mut held = VecDeque::with_capacity(HELD + 1);
    for asked in setting.asked().cycle().take(units) {
        let requirement = requirements.get(asked).context("no such requirement")?;
        held.push_back(loads.acquire(requirement).context("nobody meets the requirement")?);
        if held.len() > HELD
            && let Some(agent) = held.pop_front()
        {
            loads.change(agent, |load| load - 1);
        }
    }
    Ok(Box::new((held, loads)))
}
