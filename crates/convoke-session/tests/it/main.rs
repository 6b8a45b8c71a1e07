//! The public behaviour of a session.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod admission;
mod bounds;
mod coordinated;
mod depth;
mod fixtures;
mod handle;
mod if_completed;
mod late;
mod limits;
mod machine;
mod messages;
mod reconcile;
mod recorded;
mod resume;
mod settle;
mod snapshot;
mod state;
mod threads;
