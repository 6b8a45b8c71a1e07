//! Moments as `tokio` has them; no model reads one.

pub use tokio::time::Instant;
