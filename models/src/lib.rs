//! The concurrent parts of Convoke under a scheduler that tries many interleavings.
//!
//! Each test target compiles the sources of a crate a second time, with this library in the place of `parking_lot`,
//! `tokio` and, for a module that lives on atomics alone, `std`. What is tried is the code that ships: it has no switch
//! and does not know of this package. A target lists the modules of its crate as that crate's `lib.rs` does; one that is
//! missing does not compile.
//!
//! It proves nothing about what it replaces: channels, locks and atomics are those of the scheduler, with the guarantees
//! that their originals give, in the order of one processor. `Notify`, cancellation tokens and atomics in crates that are
//! compiled as they are stay the real ones, whose calls are one step each.
//!
//! Run with `cargo xtask models [--iterations N]`.

mod lock;
mod run;
pub mod sync;
pub mod time;

pub use lock::{Mutex, RwGuard, RwLock};
pub use run::{Model, run, run_all_orders};
pub use shuttle::sync::MutexGuard;
