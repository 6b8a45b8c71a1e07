//! The envelope: what it says, and that it says nothing else.

use std::{collections::BTreeSet, sync::Arc, thread, time::Duration};

use serde_json::{Value, json};

use convoke_core::{AgentId, SessionId, StepId, TaskId};
use convoke_observability::{AnySink, AttributeValue, Event, EventId, EventIds, EventSink, MemorySink};

use crate::support::event;

fn full() -> Event {
    let spans: Arc<[Arc<str>]> = Arc::from(["plan-1".into(), "step-2".into()]);
    event(7)
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
        .with_attribute("skill", AttributeValue::id("review"))
        .with_attribute("waiting", 3_usize)
        .with_attribute("detached", true)
}

#[test]
fn a_bare_event_leaves_out_what_is_absent() {
    assert_eq!(
        serde_json::to_string(&event(0)).unwrap(),
        r#"{"id":"runtime/0","unix_millis":1000,"module":"team","name":"started","subject":"draft"}"#
    );
}

#[test]
fn a_full_event_is_one_object_with_these_fields_and_no_others() {
    assert_eq!(
        serde_json::to_string(&full()).unwrap(),
        concat!(
            r#"{"id":"runtime/7","unix_millis":1007,"module":"team","name":"started","subject":"draft","#,
            r#""trace_id":"4bf92f35","parents":["plan-1","step-2"],"session":"book","agent":"writer","task":"draft","#,
            r#""step":"s2","attempt":2,"status":"failed","elapsed_micros":1500,"#,
            r#""attributes":{"code":"store_failed","skill":"review","waiting":3,"detached":true}}"#,
        )
    );
}

#[test]
fn a_duration_too_long_for_microseconds_is_the_longest_there_is() {
    let value = serde_json::to_value(event(0).with_elapsed(Duration::MAX)).unwrap();
    assert_eq!(value["elapsed_micros"], json!(u64::MAX));
}

#[test]
fn attributes_are_set_once_for_each_name() {
    let event =
        event(0).with_attribute("left", 2_u32).with_attribute("code", "x").with_attribute("left", 1_u32);
    assert_eq!(event.attributes.len(), 2);
    assert_eq!(event.attributes.get("left"), Some(&AttributeValue::Integer(1)));
    assert_eq!(event.attributes.get("right"), None);
    assert_eq!(event.attributes.to_string(), "left=1 code=x");
}

#[test]
fn attribute_values_are_plain_json() {
    fn check(value: impl Into<AttributeValue>, expected: &Value) {
        assert_eq!(serde_json::to_value(value.into()).unwrap(), *expected);
    }
    check("text", &json!("text"));
    check(String::from("owned"), &json!("owned"));
    check(AttributeValue::id(TaskId::new("draft").unwrap()), &json!("draft"));
    check(true, &json!(true));
    check(-1_i64, &json!(-1));
    check(u32::MAX, &json!(u32::MAX));
    check(u64::MAX, &json!(i64::MAX));
    check(usize::MAX, &json!(i64::MAX));
}

#[test]
fn ids_say_their_runtime_and_are_given_once_across_threads() {
    let ids = EventIds::new("runtime-9");
    let given: Vec<EventId> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..1_000).map(|_| ids.next_id()).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(given.iter().all(|id| id.runtime() == "runtime-9"));
    let numbers: BTreeSet<u64> = given.iter().map(EventId::number).collect();
    assert_eq!(numbers, (0..4_000).collect());
    assert_eq!(ids.next_id().to_string(), "runtime-9/4000");
}

#[test]
fn any_sink_shares_what_it_wraps() {
    let memory = MemorySink::new();
    let boxed: Box<dyn EventSink> = Box::new(memory.clone());
    let shared = Arc::new(memory.clone());
    let any = AnySink::from(Arc::clone(&shared));

    boxed.publish(event(0)).unwrap();
    shared.publish(event(1)).unwrap();
    any.clone().publish(event(2)).unwrap();
    AnySink::new(any).publish(event(3)).unwrap();

    assert_eq!(memory.events(), [event(0), event(1), event(2), event(3)]);
}

#[test]
fn everything_can_go_to_another_thread() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Event>();
    check::<EventIds>();
    check::<AnySink>();
    check::<MemorySink>();
    check::<convoke_observability::FanOutSink>();
    check::<convoke_observability::JsonLinesSink>();
    check::<convoke_observability::BoundedAsyncSink>();
    check::<convoke_observability::SinkError>();
    check::<convoke_observability::Failure<convoke_observability::SinkError>>();
    #[cfg(feature = "broadcast")]
    check::<convoke_observability::BroadcastSink>();
    #[cfg(feature = "broadcast")]
    check::<convoke_observability::Subscription>();
    #[cfg(feature = "tracing")]
    check::<convoke_observability::TracingSink>();
}
