//! What the records of a log say.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::Record;
use convoke_planning::{StepStatus, Wait};
use serde_json::Value;

use super::world::World;

/// What the records of a log say, by rules that are written down here once more, in the plainest way.
pub(super) struct Told<'a> {
    world: &'a World,
    pub(super) statuses: BTreeMap<String, StepStatus>,
    pub(super) starts: BTreeMap<String, usize>,
    detached: BTreeSet<String>,
}

impl<'a> Told<'a> {
    fn new(world: &'a World) -> Self {
        let name = |step: usize| (format!("s{step}"), StepStatus::Pending);
        let statuses = (0..world.edges.len()).map(name).collect();
        Self { world, statuses, starts: BTreeMap::new(), detached: BTreeSet::new() }
    }

    pub(super) fn of(world: &'a World, records: &[Record]) -> Self {
        let mut told = Self::new(world);
        for record in entries(records) {
            told.read(&record);
        }
        told
    }

    fn read(&mut self, record: &Value) {
        let Some((kind, fields)) = record.as_object().and_then(|record| record.iter().next()) else { return };
        let Some(step) = fields.get("step").and_then(Value::as_str) else { return };
        let now = self.statuses[step];
        let next = match kind.as_str() {
            "started" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                assert!(self.is_ready(step), "{record}");
                *self.starts.entry(step.to_owned()).or_default() += 1;
                StepStatus::Running
            }
            "completed" => from_running(now, StepStatus::Completed, record),
            "failed" => {
                if fields.get("execution_detached") == Some(&Value::Bool(true)) {
                    self.detached.insert(step.to_owned());
                }
                from_running(now, StepStatus::Failed, record)
            }
            "blocked" => {
                assert!(matches!(now, StepStatus::Pending | StepStatus::Running), "{record}");
                StepStatus::Blocked
            }
            "skipped" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                StepStatus::Skipped
            }
            "attempt_failed" | "rejected" | "released" | "interrupted" | "asked" => {
                from_running(now, StepStatus::Pending, record)
            }
            "worked" | "detached" | "outcome_unknown" => from_running(now, StepStatus::Running, record),
            "detached_ended" => {
                assert!(self.detached.remove(step) || now == StepStatus::Running, "{record}");
                now
            }
            "approval_required" | "approved" | "answered" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                now
            }
            kind => panic!("{kind}"),
        };
        self.statuses.insert(step.to_owned(), next);
    }

    fn is_ready(&self, step: &str) -> bool {
        self.world.edges[step[1..].parse::<usize>().unwrap()].iter().all(|(source, wait)| {
            let source = self.statuses[&format!("s{source}")];
            match wait {
                Wait::Completed => source == StepStatus::Completed,
                Wait::Ended => source.is_terminal(),
            }
        })
    }
}

fn from_running(now: StepStatus, next: StepStatus, record: &Value) -> StepStatus {
    assert_eq!(now, StepStatus::Running, "{record}");
    next
}

fn entries(records: &[Record]) -> Vec<Value> {
    let entry = |record: &Record| {
        let mut entry: Value = serde_json::from_slice(record.as_bytes()).ok()?;
        entry.get_mut("record").map(Value::take)
    };
    records.iter().filter_map(entry).collect()
}

/// Where the entries begin.
pub(super) fn head(records: &[Record]) -> usize {
    records.len() - entries(records).len()
}
