//! Ids that are made one after the other, and where a number is more than a digit.

use super::{Derived, derived_id};
use crate::{AttemptPart, MAX_ID_BYTES, MessageId, TaskId};

#[test]
fn an_id_has_nothing_of_the_one_before() {
    for length in [1, MAX_ID_BYTES, 3, 100, 2] {
        let first = "x".repeat(length);
        let task = TaskId::new(first.as_str()).unwrap();
        let id = MessageId::of_attempt(&task, 12, AttemptPart::Output(345));
        assert_eq!(id.as_str(), derived_id([first.as_str(), "12", "output", "345"]));
        assert_eq!(id.as_str().len(), (length + "/12/output/345".len()).min(MAX_ID_BYTES));
    }
}

#[test]
fn an_id_in_the_making_is_apart_from_another() {
    let one = Derived::of("one");
    let other = Derived::of("other").with("part").into_id(str::to_owned);
    assert_eq!((one.into_id(str::to_owned).as_str(), other.as_str()), ("one", "other/part"));
}

#[test]
fn numbers_are_written_whole() {
    for number in [0, 1, 9, 10, 99, u64::MAX] {
        let id = Derived::of("n").with_number(number).into_id(str::to_owned);
        assert_eq!(id, format!("n/{number}"));
    }
}
