use crate::StepDraft;

use super::names::{Names, tried};

/// Many steps of one name, and many names that stand in the way: each suffix is tried once.
#[test]
fn a_name_that_many_share_is_tried_once_for_each() {
    let taken =
        (0..1_000).map(|n| StepDraft::new(format!("d-{n}"))).chain((0..1_000).map(|_| StepDraft::new("d")));
    let mut names = Names::of(&taken.collect::<Vec<_>>());
    for _ in 0..999 {
        names.free_suffixed("d");
    }
    assert!(tried() <= 2 * 1_000, "{}", tried());
}
