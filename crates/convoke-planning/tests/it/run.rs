//! Runs of plans, through the runner.

mod approvals;
mod callbacks;
mod durability;
mod failures;
mod faults;
mod journals;
mod kills;
mod nesting;
mod order;
mod properties;
mod reflection;
mod revision;
mod scope;
mod support;
mod telling;
mod time;
mod unreadable;
