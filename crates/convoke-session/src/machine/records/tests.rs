//! Random changes against a plain map, with and without a copy that must not see them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use convoke_core::{TaskId, TaskStatus};

use super::Records;
use crate::{SessionActivity, TaskRecord};

#[derive(Clone, Debug)]
enum Operation {
    Put(u8, TaskStatus),
    Change(u8, TaskStatus),
    Copy,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let statuses = [TaskStatus::Working, TaskStatus::InputRequired, TaskStatus::TimedOut, TaskStatus::Failed];
    let status = prop::sample::select(statuses.to_vec());
    let operation = prop_oneof![
        4 => (0_u8..4, status.clone()).prop_map(|(task, status)| Operation::Put(task, status)),
        4 => (0_u8..4, status).prop_map(|(task, status)| Operation::Change(task, status)),
        1 => Just(Operation::Copy),
    ];
    prop::collection::vec(operation, 0..24)
}

fn task(number: u8) -> TaskId {
    TaskId::new(format!("task {number}")).unwrap()
}

fn record(status: TaskStatus) -> TaskRecord {
    TaskRecord {
        status,
        attempt: 1,
        agent: None,
        report: None,
        detached: status == TaskStatus::TimedOut,
        digest: None,
        late: None,
        reconciled: None,
        staged: 0,
        pause: None,
    }
}

type Model = BTreeMap<TaskId, TaskRecord>;

fn check(records: &Records, model: &Model) -> Result<(), TestCaseError> {
    let found: Vec<_> = records.iter().collect();
    prop_assert_eq!(records.iter().len(), found.len());
    prop_assert!(found.iter().copied().eq(model.iter()));
    let backward: Vec<_> = records.iter().rev().collect();
    prop_assert!(backward.into_iter().eq(model.iter().rev()));
    for number in 0..4 {
        prop_assert_eq!(records.get(&task(number)), model.get(&task(number)));
    }
    let mut activity = SessionActivity::default();
    for record in model.values() {
        activity.add(record);
    }
    prop_assert_eq!(records.activity(), activity);
    Ok(())
}

proptest! {
    #[test]
    fn records_are_a_map_and_a_copy_keeps_what_it_had(operations in operations()) {
        let (mut records, mut model) = (Records::new(), Model::new());
        let mut copies = Vec::new();
        for operation in operations {
            match operation {
                Operation::Put(number, status) => {
                    records.put(task(number), record(status));
                    model.insert(task(number), record(status));
                }
                Operation::Change(number, status) => {
                    records.change(&task(number), |found| *found = record(status));
                    model.entry(task(number)).and_modify(|found| *found = record(status));
                }
                Operation::Copy => copies.push((records.clone(), model.clone())),
            }
            check(&records, &model)?;
        }
        for (records, model) in &copies {
            check(records, model)?;
        }
    }
}
