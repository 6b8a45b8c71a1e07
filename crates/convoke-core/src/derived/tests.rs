//! Where an id outgrows its place on the stack, and where a number is more than a digit.

use super::{Derived, USUAL_BYTES, derived_id};
use crate::{AttemptPart, MessageId, TaskId};

#[test]
fn an_id_that_outgrows_its_place_is_whole() {
    for length in USUAL_BYTES - 6..USUAL_BYTES + 3 {
        let first = "x".repeat(length);
        assert_eq!(derived_id([first.as_str(), "é", "~"]), format!("{first}/é/%7E"), "{length}");
        let task = TaskId::new(first.as_str()).unwrap();
        let id = MessageId::of_attempt(&task, 12, AttemptPart::Output(345));
        assert_eq!(id.as_str(), format!("{first}/12/output/345"));
    }
}

#[test]
fn numbers_are_written_whole() {
    for number in [0, 1, 9, 10, 99, u64::MAX] {
        assert_eq!(Derived::of("n").with_number(number).text(), format!("n/{number}"));
    }
}
