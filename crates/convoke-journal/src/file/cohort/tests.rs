//! Who waits, and for how long.

use std::time::Duration;

use super::Cohort;

const SYNC: Duration = Duration::from_millis(8);

#[test]
fn one_who_commits_alone_never_waits() {
    let mut cohort = Cohort::default();
    assert_eq!(cohort.window(1), None);
    cohort.ended(1, 0, SYNC);
    assert_eq!(cohort.window(1), None);
}

#[test]
fn a_frame_waits_for_those_of_the_last_and_those_behind_it() {
    let mut cohort = Cohort::default();
    cohort.ended(1, 63, SYNC);
    assert_eq!(cohort.window(63), Some(SYNC / 4));
    assert_eq!(cohort.window(64), None);
    cohort.ended(64, 0, SYNC);
    assert_eq!(cohort.window(1), Some(SYNC / 4));
    cohort.ended(3, 0, SYNC);
    assert_eq!(cohort.window(3), None, "those who have left are waited for once");
}

#[test]
fn no_wait_is_long() {
    let mut cohort = Cohort::default();
    cohort.ended(2, 0, Duration::from_mins(1));
    assert_eq!(cohort.window(1), Some(Duration::from_millis(10)));
}
