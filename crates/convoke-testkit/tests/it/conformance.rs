//! The suites: whoever ships passes, and whoever breaks a rule is found.

#[cfg(feature = "registry")]
mod agent_executor;
#[cfg(feature = "observability")]
mod event_sink;
#[cfg(feature = "journal")]
mod journal;
#[cfg(feature = "consensus")]
mod resolver;
