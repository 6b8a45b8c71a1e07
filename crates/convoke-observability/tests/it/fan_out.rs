//! The sink that passes events on to several.

use std::mem;

use convoke_observability::{AnySink, EventSink, FanOutSink, MemorySink};

use crate::support::{Bombing, Failing, Panicking, event, lines};

#[test]
fn passes_on_to_all() {
    let (first, second) = (MemorySink::new(), MemorySink::new());
    let sink: FanOutSink = [AnySink::new(first.clone()), AnySink::new(second.clone())].into_iter().collect();
    sink.publish(event(0)).unwrap();
    assert_eq!((first.events(), second.events()), (vec![event(0)], vec![event(0)]));
    assert!(FanOutSink::new().publish(event(0)).is_ok());
}

#[test]
fn tries_all_and_then_reports_the_first_failure() {
    fn check(sink: FanOutSink, expected: &[&str]) {
        let memory = MemorySink::new();
        let error = sink.with_sink(memory.clone()).publish(event(1)).unwrap_err();
        assert_eq!(lines(&error), expected);
        assert_eq!(memory.events(), [event(1)], "the last one gets the event whatever the others do");
    }
    let first = || FanOutSink::new().with_sink(MemorySink::new());
    check(
        first().with_sink(Failing).with_sink(Panicking),
        &["sink 2 of 4 did not take the event", "collector refused `runtime/1`"],
    );
    check(
        first().with_sink(Panicking).with_sink(Failing),
        &["sink 2 of 4 panicked", "no state for `runtime/1`"],
    );
    check(
        FanOutSink::new().with_sink(first().with_sink(Failing)),
        &[
            "sink 1 of 2 did not take the event",
            "sink 2 of 2 did not take the event",
            "collector refused `runtime/1`",
        ],
    );
}

#[test]
fn errors_that_panic_where_they_are_dropped_keep_the_event_from_nobody() {
    let memory = MemorySink::new();
    let sink =
        FanOutSink::new().with_sink(Bombing).with_sink(Bombing).with_sink(Bombing).with_sink(memory.clone());
    let error = sink.publish(event(1)).unwrap_err();
    assert_eq!(
        lines(&error),
        ["sink 1 of 4 did not take the event", "collector refused `runtime/1`", "handle with care"]
    );
    assert_eq!(memory.events(), [event(1)]);
    // The first one is the publisher's, who is this test.
    mem::forget(error);
}
