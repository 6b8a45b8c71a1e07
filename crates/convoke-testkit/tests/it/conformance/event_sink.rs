//! The suite for sinks.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use convoke_observability::{
    AnySink, BoundedAsyncSink, Event, EventId, EventSink, FanOutSink, JsonLinesSink, MemorySink, SinkError,
};
use convoke_testkit::{FailingSink, conformance};

fn ids(memory: &MemorySink) -> Vec<EventId> {
    memory.events().into_iter().map(|event| event.id).collect()
}

#[test]
fn a_memory_sink_conforms() {
    let memory = MemorySink::new();
    let published = conformance::event_sink(&memory);
    assert_eq!(published.len(), 200);
    assert!(!published.is_empty());
    published.assert_delivered(ids(&memory));
}

#[test]
fn sinks_around_others_conform() {
    let (one, two) = (MemorySink::new(), MemorySink::new());
    let both = FanOutSink::new().with_sink(one.clone()).with_sink(two.clone());
    let sink = AnySink::from(Arc::new(both));
    let published = conformance::event_sink(&sink);
    published.assert_delivered(ids(&one));
    published.assert_delivered(ids(&two));
}

#[test]
fn a_json_lines_sink_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let published = conformance::event_sink(&JsonLinesSink::open(&path).unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    let arrived = text.lines().map(|line| {
        let id = line.split('"').nth(3).unwrap();
        let (runtime, number) = id.split_once('/').unwrap();
        EventId::new(runtime, number.parse().unwrap())
    });
    published.assert_delivered(arrived);
}

#[tokio::test]
async fn a_bounded_sink_conforms() {
    let memory = MemorySink::new();
    let sink = BoundedAsyncSink::builder(memory.clone()).start().unwrap();
    let published = conformance::event_sink(&sink);
    sink.close().await.unwrap();
    published.assert_delivered(ids(&memory));
}

/// Passes each event on, but for the seventh.
struct Odd<F>(MemorySink, AtomicU64, F);

impl<F: Fn(&MemorySink, Event) -> Result<(), SinkError> + Send + Sync + 'static> EventSink for Odd<F> {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        if self.1.fetch_add(1, Ordering::Relaxed) == 7 {
            (self.2)(&self.0, event)
        } else {
            self.0.publish(event)
        }
    }
}

fn check_odd(seventh: impl Fn(&MemorySink, Event) -> Result<(), SinkError> + Send + Sync + 'static) {
    let sink = Odd(MemorySink::new(), AtomicU64::new(0), seventh);
    conformance::event_sink(&sink).assert_delivered(ids(&sink.0));
}

#[test]
#[should_panic(expected = "did not arrive")]
fn a_sink_that_loses_an_event_is_found() {
    check_odd(|_, _| Ok(()));
}

#[test]
#[should_panic(expected = "arrived twice")]
fn a_sink_that_doubles_an_event_is_found() {
    check_odd(|memory, event| memory.publish(event.clone()).and_then(|()| memory.publish(event)));
}

#[test]
#[should_panic(expected = "nobody published")]
fn a_sink_that_makes_an_event_up_is_found() {
    check_odd(|memory, event| {
        memory.publish(event)?;
        memory.publish(Event::new(EventId::new("elsewhere", 0), 0, "team", "started", "draft"))
    });
}

#[test]
#[should_panic(expected = "before an earlier one")]
fn a_sink_that_turns_the_order_around_is_found() {
    let memory = MemorySink::new();
    let published = conformance::event_sink(&memory);
    published.assert_delivered(ids(&memory).into_iter().rev());
}

#[test]
#[should_panic(expected = "refused event")]
fn a_sink_that_refuses_an_event_is_found() {
    let _ = conformance::event_sink(&FailingSink::after(9));
}

#[test]
#[should_panic(expected = "failing on purpose")]
fn a_sink_that_panics_is_found() {
    let _ = conformance::event_sink(&FailingSink::after(9).panicking());
}
