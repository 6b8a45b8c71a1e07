//! The public behaviour of the team runtime.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod admission;
mod bounds;
mod commit;
mod context;
mod coordinated;
mod coordinated_errors;
mod coordinated_events;
mod deadlines;
mod detached;
mod dispatch;
mod drain;
mod drops;
mod each;
mod forfeit;
mod from_outside;
mod handles;
mod house;
mod inherited;
mod late;
mod lifecycle;
mod limits;
mod nested;
mod panics;
mod parallel;
#[cfg(unix)]
mod process;
mod races;
mod random_nested;
mod recorded;
mod resume;
mod runtime_end;
mod schedules;
mod secrecy;
mod sessions;
mod soak;
mod spans;
mod stopping;
mod telemetry;
mod waits;
