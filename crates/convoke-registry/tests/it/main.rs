//! The public behaviour of the registry.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod batch;
mod blocking;
mod bounds;
mod coordination;
mod executor;
mod fixtures;
mod handle;
mod leases;
#[cfg(all(unix, feature = "process"))]
mod process;
mod registration;
mod slots;
mod stress;
mod updates;
mod waiting;
