//! The sink that keeps events in memory.

use convoke_observability::{EventSink, MemorySink};

use crate::support::{event, numbers};

fn after_five(sink: &MemorySink) -> (Vec<u64>, u64) {
    for number in 0..5 {
        sink.publish(event(number)).unwrap();
    }
    assert_eq!(sink.len(), sink.events().len());
    (numbers(&sink.events()), sink.forgotten())
}

#[test]
fn keeps_the_newest_as_far_as_there_is_room() {
    assert_eq!(after_five(&MemorySink::new()), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(after_five(&MemorySink::unlimited()), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(after_five(&MemorySink::with_capacity(5)), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(after_five(&MemorySink::with_capacity(2)), (vec![3, 4], 3));
    assert_eq!(after_five(&MemorySink::with_capacity(0)), (vec![], 5));
}

#[test]
fn has_a_finite_room_unless_told_otherwise() {
    let sink = MemorySink::default();
    for number in 0..10_001 {
        sink.publish(event(number)).unwrap();
    }
    assert_eq!((sink.len(), sink.forgotten()), (10_000, 1));
}

#[test]
fn clear_forgets_all_for_every_handle() {
    let sink = MemorySink::with_capacity(1);
    let other = sink.clone();
    assert!(other.is_empty());
    after_five(&sink);
    assert!(!other.is_empty());

    other.clear();
    assert_eq!((sink.events(), sink.forgotten()), (vec![], 0));
}
