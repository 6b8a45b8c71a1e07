//! The public behaviour of what tests stand on.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

#[cfg(any(feature = "consensus", feature = "observability", feature = "registry"))]
mod conformance;
mod gate;
#[cfg(feature = "registry")]
mod scripted;
#[cfg(feature = "registry")]
mod trial;
