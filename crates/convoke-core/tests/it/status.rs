//! The state machine of a task.

use proptest::prelude::*;

use convoke_core::TaskStatus::{
    self, Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working,
};

pub(crate) const STATUSES: [TaskStatus; 8] =
    [Submitted, Working, InputRequired, Completed, Failed, Blocked, Cancelled, TimedOut];

#[test]
fn an_attempt_goes_these_ways_and_no_others() {
    #[rustfmt::skip]
    let table = [
        //                 S  W  I  C  F  B  C  T
        (Submitted,     [ 0, 1, 0, 0, 1, 1, 1, 1 ]),
        (Working,       [ 0, 0, 1, 1, 1, 1, 1, 1 ]),
        (InputRequired, [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
        (Completed,     [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
        (Failed,        [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
        (Blocked,       [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
        (Cancelled,     [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
        (TimedOut,      [ 0, 0, 0, 0, 0, 0, 0, 0 ]),
    ];
    for (from, row) in table {
        assert_eq!(STATUSES.map(|to| u8::from(from.can_become(to))), row, "from {from}");
    }
}

#[test]
fn every_status_is_of_one_kind_and_says_whether_its_id_goes_on() {
    fn check(status: TaskStatus, kind: &str, goes_on: bool, name: &str) {
        let kinds = [status.is_active(), status.is_paused(), status.is_terminal()];
        assert_eq!(kinds, ["active", "paused", "terminal"].map(|each| each == kind), "{status}");
        assert_eq!(status.allows_next_attempt(), goes_on, "{status}");
        assert_eq!((status.as_str(), status.to_string().as_str()), (name, name));
        assert_eq!(serde_json::to_string(&status).unwrap(), format!("\"{name}\""));
        assert_eq!(serde_json::from_str::<TaskStatus>(&format!("\"{name}\"")).unwrap(), status);
    }
    check(Submitted, "active", false, "submitted");
    check(Working, "active", false, "working");
    check(InputRequired, "paused", true, "input_required");
    check(Completed, "terminal", false, "completed");
    check(Failed, "terminal", true, "failed");
    check(Blocked, "terminal", true, "blocked");
    check(Cancelled, "terminal", true, "cancelled");
    check(TimedOut, "terminal", false, "timed_out");
    assert!(serde_json::from_str::<TaskStatus>("\"Submitted\"").is_err());
}

proptest! {
    /// Whatever is asked for, in whatever order: what has ended stays, and an attempt ends within two steps.
    #[test]
    fn no_path_leaves_an_end(asked in prop::collection::vec(prop::sample::select(&STATUSES[..]), 0..20)) {
        let mut path = vec![Submitted];
        for next in asked {
            let now = path[path.len() - 1];
            if now.can_become(next) {
                prop_assert!(now.is_active());
                path.push(next);
            }
        }
        prop_assert!(path.len() <= 3, "{path:?}");
        prop_assert!(path.iter().rev().skip(1).all(|status| status.is_active()), "{path:?}");
        prop_assert!(!path.contains(&Completed) || path.contains(&Working), "{path:?}");
        prop_assert!(!path.contains(&InputRequired) || path.contains(&Working), "{path:?}");
    }
}
