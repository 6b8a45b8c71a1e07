//! A foreign call that fails or panics is a failure, and no more than that.

use std::panic::panic_any;

use convoke_observability::{EventSink, Failure, MemorySink, call_isolated, is_taken, publish_isolated};

use crate::support::{Bomb, Bombing, Failing, Panicking, event, lines};

#[test]
fn a_sink_that_takes_the_event_is_no_failure() {
    let memory = MemorySink::new();
    assert!(publish_isolated(&memory, event(0)).is_ok());
    assert_eq!(memory.events(), [event(0)]);
}

#[test]
fn an_error_is_kept_as_the_source() {
    let failure = publish_isolated(&Failing, event(3)).unwrap_err();
    assert_eq!(lines(&failure), ["call returned an error", "collector refused `runtime/3`"]);
}

#[test]
fn a_panic_is_a_failure_whose_text_only_the_host_sees() {
    let failure = publish_isolated(&Panicking, event(3)).unwrap_err();
    assert_eq!(lines(&failure), ["call panicked"]);
    let Failure::Panicked { detail } = failure else { panic!("{failure:?}") };
    assert_eq!(detail.as_deref(), Some("no state for `runtime/3`"));
}

#[test]
fn a_panic_may_throw_anything() {
    fn check(call: impl FnOnce(), expected: Option<&str>) {
        let failure = call_isolated(|| {
            call();
            Ok::<_, String>(())
        });
        let Err(Failure::Panicked { detail }) = failure else { panic!("{failure:?}") };
        assert_eq!(detail.as_deref(), expected);
    }

    check(|| panic!("plain"), Some("plain"));
    check(|| panic!("with {}", 1), Some("with 1"));
    check(|| panic_any(7), None);
    check(|| panic_any(Bomb), None);
}

#[test]
fn an_error_needs_to_be_nothing_in_particular() {
    assert!(matches!(call_isolated(|| Err(7)), Err(Failure::Returned(7))));
}

#[test]
fn where_only_success_counts_nothing_of_a_failure_comes_out() {
    assert!(is_taken(|| MemorySink::new().publish(event(0))));
    assert!(!is_taken(|| Failing.publish(event(0))));
    assert!(!is_taken(|| Panicking.publish(event(0))));
    assert!(!is_taken(|| Bombing.publish(event(0))), "an error that panics where it is dropped");
    assert!(!is_taken(|| Err(Bomb)));
    assert!(!is_taken::<String>(|| panic_any(Bomb)));
}
