//! The public behaviour of what tests stand on.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too, which clippy sees only in `#[test]` functions"
)]

#[cfg(any(feature = "consensus", feature = "journal", feature = "observability", feature = "registry"))]
mod conformance;
#[cfg(feature = "journal")]
mod faulty_journal;
mod gate;
#[cfg(feature = "registry")]
mod scripted;
#[cfg(feature = "registry")]
mod trial;
