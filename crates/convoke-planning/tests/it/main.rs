//! The public behaviour of plans and of their runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod codec;
mod cycles;
mod diagram;
mod fixtures;
mod fuzzed;
mod generated;
mod normalizer;
mod plan;
mod policy;
mod priority;
mod readiness;
mod run;
mod scale;
mod status;
mod validator;
