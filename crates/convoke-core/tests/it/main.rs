//! The public behaviour of the words.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod agent;
mod budget;
mod budget_threads;
mod derived;
mod digest;
mod errors;
mod generated;
mod ids;
mod journal;
mod json_size;
mod ledger;
mod outcome;
mod report;
mod request;
mod scope;
mod status;
mod values;
