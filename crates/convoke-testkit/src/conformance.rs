//! What every implementor of a contract must hold, as suites that an implementor runs in its own tests.
//!
//! A suite panics at the first thing that is not so, and says what.

#[cfg(feature = "registry")]
mod agent_executor;
#[cfg(feature = "observability")]
mod event_sink;
#[cfg(feature = "journal")]
mod journal;
#[cfg(feature = "consensus")]
mod resolver;

#[cfg(feature = "registry")]
pub use agent_executor::agent_executor;
#[cfg(feature = "observability")]
pub use event_sink::{Published, event_sink};
#[cfg(feature = "journal")]
pub use journal::{durable_journal, journal};
#[cfg(feature = "consensus")]
pub use resolver::resolver;
