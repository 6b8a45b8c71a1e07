//! Plans whose steps a team does: what reaches the agents, what becomes of the steps, and what a crash leaves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod attempts;
mod crashes;
mod execution;
mod house;
mod nested;
mod questions;
mod random;
mod secrecy;
mod sessions;
mod stopping;
