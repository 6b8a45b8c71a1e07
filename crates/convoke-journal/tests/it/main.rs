//! The public behaviour of journals.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod against_memory;
mod conformance;
mod file;
mod fuzzed;
mod processes;
mod threads;
