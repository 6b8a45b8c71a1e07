//! Attempts that come and go in any order, against a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use convoke_core::TaskId;

use super::OpenAttempts;
use crate::{
    SessionUsage,
    machine::open::{OpenAttempt, Phase, Working},
};

fn task(number: u8) -> TaskId {
    TaskId::new(format!("task {number}")).unwrap()
}

fn open(attempt: u32) -> OpenAttempt {
    let phase = Phase::Working(Working::default());
    OpenAttempt { attempt, reserved: SessionUsage::default(), phase }
}

proptest! {
    #[test]
    fn each_task_has_its_own_attempt(numbers in prop::collection::vec(0_u8..4, 0..32)) {
        let (mut attempts, mut model) = (OpenAttempts::default(), BTreeMap::new());
        for (step, number) in (1..).zip(numbers) {
            if model.remove(&number).is_some() {
                prop_assert!(attempts.remove(&task(number)).is_some());
                prop_assert!(attempts.remove(&task(number)).is_none());
            } else {
                model.insert(number, step);
                attempts.insert(task(number), open(step));
            }
            for number in 0..4 {
                let expected = model.get(&number).copied();
                prop_assert_eq!(attempts.get(&task(number)).map(|open| open.attempt), expected);
                prop_assert_eq!(attempts.get_mut(&task(number)).map(|open| open.attempt), expected);
            }
            let mut found: Vec<_> = attempts.values().map(|open| open.attempt).collect();
            let mut expected: Vec<_> = model.values().copied().collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
