//! What the runtime costs, as ratios to a floor measured in the same run: the least that tokio, ordered maps, a
//! heap or a persistent vector can do for the same guarantee.
//!
//! A number in microseconds says something about one machine at one moment; the ratio is what to compare. Three programs
//! share this library. `time` and `count` each measure one side of a case and print it as JSON: `time` under the system's
//! allocator, `count` under one that counts, so that counting slows no clock down, and each in a process of its own, so
//! that no side sees the heap or the caches that another left behind: a floor that runs after a hundred thousand reports
//! were dropped takes five times as long. `bench` calls them in turn, compares and prints; `cargo xtask bench` builds and
//! runs it.
//!
//! It knows the facade, and of plans and journals, which that does not have, their own crates. It judges nothing in a test: what is
//! time is checked by `bench --check`, and ci checks counts.

mod benchmark;
mod benchmarks;
mod check;
mod clock;
mod figures;
mod options;
mod peers;
mod place;
mod probe;
mod report;
mod series;
mod syncs;
mod targets;

pub use options::bench;
pub use probe::{Counters, count, time};
