//! Who waits, and who does not.

use std::time::{Duration, Instant};

use super::{Cohort, LONGEST};

/// A cohort whose last commit had so many records, and so many behind it, and took a while.
fn after(records: usize, waiting: usize, took: Duration) -> Cohort {
    let begun = Instant::now().checked_sub(took).unwrap();
    let mut cohort = Cohort { under_way: Some((begun, records)), ..Cohort::default() };
    cohort.ended(waiting);
    cohort
}

#[test]
fn the_first_commit_does_not_wait() {
    assert!(!Cohort::default().waits(1));
}

#[test]
fn one_that_runs_alone_does_not_wait() {
    assert!(!after(2, 0, Duration::from_secs(1)).waits(2));
}

#[test]
fn those_who_ran_together_are_waited_for() {
    let mut cohort = after(64, 64, Duration::from_secs(1));
    assert!(cohort.waits(64));
    assert!(cohort.waits(127));
    assert!(!cohort.waits(128));
}

#[test]
fn nobody_is_waited_for_longer_than_a_quarter_of_a_commit_or_the_longest_wait() {
    let mut cohort = after(64, 0, Duration::from_secs(1));
    assert_eq!(cohort.window, LONGEST);
    assert!(cohort.waits(1));
    cohort.waits_since = cohort.waits_since.and_then(|since| since.checked_sub(LONGEST));
    assert!(!cohort.waits(1));

    let quick = after(64, 0, Duration::from_millis(4));
    assert!(quick.window >= Duration::from_millis(1) && quick.window < LONGEST, "{quick:?}");
}
