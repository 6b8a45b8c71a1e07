//! The public behaviour of the envelope and its sinks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

mod bounded_async;
#[cfg(feature = "broadcast")]
mod broadcast;
mod event;
mod fan_out;
mod isolation;
mod json_lines;
mod memory;
mod support;
#[cfg(feature = "tracing")]
mod tracing_sink;
