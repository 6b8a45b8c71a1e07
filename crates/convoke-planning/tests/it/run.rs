//! Runs of plans, through the runner.

mod approvals;
mod durability;
mod failures;
mod nesting;
mod order;
mod reflection;
mod revision;
mod support;
mod telling;
mod time;
