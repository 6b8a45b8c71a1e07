//! Sessions with a log: where they come from, and what keeps the log up to them.

mod keeper;
mod recorder;
mod store;

#[cfg(test)]
mod tests;

pub(crate) use keeper::{Keeper, KeeperHandle};
pub use recorder::Recorder;
pub(crate) use recorder::tell;
pub use store::SessionStore;
