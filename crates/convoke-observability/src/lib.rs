//! Events: one envelope for what every runtime of Convoke tells, and the sinks that take it.
//!
//! A runtime turns what happens into an [`Event`]: ids, states, counts, durations, and text that the SDK wrote. It
//! hands each event to one [`EventSink`] through [`is_taken`], so that a sink that fails or panics costs the
//! work nothing and is counted. A sink that may block belongs behind a [`BoundedAsyncSink`]; several sinks become one in
//! a [`FanOutSink`]. An event, and its [`EventId`], is made only where a sink exists.
//!
//! ```
//! use convoke_observability::{Event, EventIds, EventSink as _, MemorySink, is_taken};
//!
//! let memory = MemorySink::new();
//! let ids = EventIds::new("runtime-1");
//!
//! let started = Event::new(ids.next_id(), 1_767_225_600_000, "team", "started", "draft")
//!     .with_status("working")
//!     .with_attempt(1)
//!     .with_attribute("waiting", 3_u32);
//! assert!(is_taken(|| memory.publish(started)));
//!
//! assert_eq!(
//!     serde_json::to_string(&memory.events()).unwrap(),
//!     concat!(
//!         r#"[{"id":"runtime-1/0","unix_millis":1767225600000,"module":"team","name":"started","subject":"draft","#,
//!         r#""attempt":1,"status":"working","attributes":{"waiting":3}}]"#,
//!     )
//! );
//! ```
//!
//! This crate knows no team, no plan and no content: inputs, outputs and tool arguments have no field to travel in, and
//! what an executor, a panic or a provider said stays in the report. It defines no typed events (they belong to the
//! crate that raises them), reads no clock, opens no spans and exports nothing over a network.
//!
//! | where | what |
//! |---|---|
//! | `event`, `event_id`, `attribute` | the envelope, its id, its further values |
//! | `sink`, `any_sink`, `sink_error` | the contract of a sink, any sink as one type, why one failed |
//! | `observer_error` | why an observer of a layer's own, typed events failed |
//! | `isolation` | calling what belongs to others: an error or a panic becomes a [`Failure`] |
//! | `memory`, `json_lines`, `fan_out`, `bounded_async`, `broadcast`, `tracing_sink` | the sinks |
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `broadcast` | no | `BroadcastSink`, on tokio's channels: events for user interfaces |
//! | `tracing` | no | `TracingSink`: events of the `tracing` crate |
//!
//! The other sinks need nothing that `convoke-core` does not bring, and are always there.

mod any_sink;
mod attribute;
mod bounded_async;
#[cfg(feature = "broadcast")]
mod broadcast;
mod event;
mod event_id;
mod fan_out;
mod isolation;
mod json_lines;
mod memory;
mod observer_error;
mod sink;
mod sink_error;
#[cfg(feature = "tracing")]
mod tracing_sink;

pub use any_sink::AnySink;
pub use attribute::{AttributeValue, Attributes};
pub use bounded_async::{BoundedAsyncBuilder, BoundedAsyncSink, SinkCounters, WhenFull};
#[cfg(feature = "broadcast")]
pub use broadcast::{BroadcastSink, Subscription};
pub use event::Event;
pub use event_id::{EventId, EventIds};
pub use fan_out::FanOutSink;
pub use isolation::{Failure, call_isolated, drop_isolated, is_taken, panic_detail, publish_isolated};
pub use json_lines::{JsonLinesBuilder, JsonLinesSink};
pub use memory::MemorySink;
pub use observer_error::ObserverError;
pub use sink::EventSink;
pub use sink_error::SinkError;
#[cfg(feature = "tracing")]
pub use tracing_sink::TracingSink;
