//! The machine against tables of cases, plans by chance, and its promises of cost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod bench;
mod codec;
mod failing;
mod forks;
mod gates;
mod properties;
mod refused;
mod resuming;
mod reviewing;
mod revising;
mod running;
mod scale;
mod side_effects;
mod snapshots;
mod storms;
mod timing;
mod turns;
