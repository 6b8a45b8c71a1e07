//! Channels as `tokio` has them, and atomics as `std` has them, whose every use is a choice of the scheduler.

pub mod mpsc;
pub mod oneshot;

pub use shuttle::sync::atomic;
pub use tokio::sync::Notify;
