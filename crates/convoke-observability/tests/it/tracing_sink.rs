//! The sink that makes events of the `tracing` crate.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::with_default,
};

use convoke_core::{AgentId, SessionId, StepId, TaskId};
use convoke_observability::{EventSink, TracingSink, publish_isolated};

use crate::support::event;

type Fields = BTreeMap<&'static str, String>;

/// Keeps the events that it gets, or panics.
#[derive(Clone, Default)]
struct Recorder {
    events: Arc<Mutex<Vec<(String, Fields)>>>,
    panics: bool,
}

struct Recorded(Fields);

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        assert!(!self.panics, "subscriber is out of order");
        let mut fields = Recorded(Fields::new());
        event.record(&mut fields);
        let metadata = event.metadata();
        self.events.lock().push((format!("{} {}", metadata.level(), metadata.target()), fields.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn recorded(event: convoke_observability::Event) -> (String, Fields) {
    let recorder = Recorder::default();
    with_default(recorder.clone(), || TracingSink::new().publish(event).unwrap());
    let mut events = recorder.events.lock();
    assert_eq!(events.len(), 1);
    events.remove(0)
}

#[test]
fn a_bare_event_has_no_field_for_what_is_absent() {
    let expected = Fields::from([
        ("id", "runtime/0".into()),
        ("unix_millis", "1000".into()),
        ("module", "\"team\"".into()),
        ("name", "\"started\"".into()),
        ("subject", "\"draft\"".into()),
        ("message", "started".into()),
    ]);
    assert_eq!(recorded(event(0)), ("INFO convoke".into(), expected));
}

#[test]
fn a_full_event_has_these_fields_and_no_others() {
    let spans: Arc<[Arc<str>]> = Arc::from(["plan-1".into(), "step-2".into()]);
    let event = event(7)
        .with_trace_id("4bf92f35")
        .with_parents(spans)
        .with_session(SessionId::new("book").unwrap())
        .with_agent(AgentId::new("writer").unwrap())
        .with_task(TaskId::new("draft").unwrap())
        .with_step(StepId::new("s2").unwrap())
        .with_attempt(2)
        .with_status("failed")
        .with_elapsed(Duration::from_micros(1_500))
        .with_attribute("code", "store_failed")
        .with_attribute("waiting", 3_u64);
    let expected = Fields::from([
        ("id", "runtime/7".into()),
        ("unix_millis", "1007".into()),
        ("module", "\"team\"".into()),
        ("name", "\"started\"".into()),
        ("subject", "\"draft\"".into()),
        ("trace_id", "\"4bf92f35\"".into()),
        ("parents", "[\"plan-1\", \"step-2\"]".into()),
        ("session", "book".into()),
        ("agent", "writer".into()),
        ("task", "draft".into()),
        ("step", "s2".into()),
        ("attempt", "2".into()),
        ("status", "\"failed\"".into()),
        ("elapsed_micros", "1500".into()),
        ("attributes", "code=store_failed waiting=3".into()),
        ("message", "started".into()),
    ]);
    assert_eq!(recorded(event).1, expected);
}

#[test]
fn without_a_subscriber_an_event_is_gone_and_that_is_no_failure() {
    TracingSink::new().publish(event(0)).unwrap();
}

#[test]
fn a_subscriber_that_panics_is_isolated_as_any_sink() {
    let recorder = Recorder { panics: true, ..Recorder::default() };
    with_default(recorder, || assert!(publish_isolated(&TracingSink, event(0)).is_err()));
}
