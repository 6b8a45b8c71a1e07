//! Why steps were skipped.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use convoke_core::StepId;

use crate::{StepIndex, StepStatus, Wait, machine::Machine};

/// The causes of all skipped steps, each found once: steps with the same ones share them.
pub(super) fn of(machine: &Machine) -> HashMap<StepIndex, Arc<[StepId]>> {
    let plan = machine.plan();
    let is_skipped = |step: StepIndex| machine.status(step) == StepStatus::Skipped;
    let before = |step: StepIndex| plan.dependencies(step).filter(|edge| edge.wait == Wait::Completed);
    let mut waits: HashMap<StepIndex, usize> = plan
        .indices()
        .filter(|step| is_skipped(*step))
        .map(|step| (step, before(step).filter(|edge| is_skipped(edge.step)).count()))
        .collect();
    let mut found: HashMap<StepIndex, Arc<[StepIndex]>> = HashMap::new();
    let mut next: VecDeque<_> =
        waits.iter().filter(|(_, waits)| **waits == 0).map(|(step, _)| *step).collect();
    while let Some(step) = next.pop_front() {
        let own = before(step).map(|edge| edge.step);
        let own =
            own.filter(|step| matches!(machine.status(*step), StepStatus::Failed | StepStatus::Blocked));
        let mut own: Vec<_> = own.collect();
        let mut behind = before(step).filter_map(|edge| found.get(&edge.step)).cloned();
        let first = behind.next();
        let rest = behind.filter(|other| first.as_ref().is_none_or(|first| !Arc::ptr_eq(first, other)));
        let rest: Vec<_> = rest.collect();
        let causes = match first {
            Some(first) if own.is_empty() && rest.is_empty() => first,
            first => {
                own.extend(first.iter().chain(&rest).flat_map(|causes| causes.iter().copied()));
                own.sort_unstable();
                own.dedup();
                own.into()
            }
        };
        found.insert(step, causes);
        for edge in plan.dependents(step).filter(|edge| edge.wait == Wait::Completed) {
            if let Some(waits) = waits.get_mut(&edge.step) {
                *waits = waits.saturating_sub(1);
                if *waits == 0 {
                    next.push_back(edge.step);
                }
            }
        }
    }
    let mut named: HashMap<*const StepIndex, Arc<[StepId]>> = HashMap::new();
    let mut name = |causes: &Arc<[StepIndex]>| {
        let ids = || causes.iter().filter_map(|step| Some(plan.step(*step)?.id.clone())).collect();
        Arc::clone(named.entry(causes.as_ptr()).or_insert_with(ids))
    };
    found.iter().map(|(step, causes)| (*step, name(causes))).collect()
}
