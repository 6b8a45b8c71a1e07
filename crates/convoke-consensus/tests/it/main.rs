//! Consensus through a team: what is refused, how rounds end, and what they leave behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod cut_off;
mod ends;
mod events;
mod hostile;
mod house;
mod nested;
mod refused;
mod resolvers;
mod secrecy;
mod stragglers;
mod verdicts;
