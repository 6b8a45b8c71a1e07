//! The public behaviour of a session.

mod admission;
mod bounds;
mod fixtures;
mod handle;
mod limits;
mod machine;
mod messages;
mod resume;
mod settle;
mod snapshot;
mod state;
mod threads;
