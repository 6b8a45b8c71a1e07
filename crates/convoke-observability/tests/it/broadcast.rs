//! The sink for those that listen.

use std::sync::Arc;

use convoke_observability::{BroadcastSink, EventSink};

use crate::support::event;

async fn rest(mut subscription: convoke_observability::Subscription) -> (Vec<u64>, u64) {
    let mut numbers = Vec::new();
    while let Some(event) = subscription.next().await {
        numbers.push(event.id.number());
    }
    (numbers, subscription.missed())
}

#[tokio::test]
async fn each_subscription_gets_what_comes_after_it() {
    let sink = BroadcastSink::default();
    let handle = sink.clone();
    sink.publish(event(0)).unwrap();
    let first = sink.subscribe();
    sink.publish(event(1)).unwrap();
    let second = handle.subscribe();
    handle.publish(event(2)).unwrap();
    assert_eq!(sink.subscriptions(), 2);
    drop((sink, handle));
    assert_eq!(rest(first).await, (vec![1, 2], 0));
    assert_eq!(rest(second).await, (vec![2], 0));
}

#[test]
fn that_nobody_listens_is_no_failure() {
    let sink = BroadcastSink::new();
    sink.publish(event(0)).unwrap();
    drop(sink.subscribe());
    sink.publish(event(1)).unwrap();
    assert_eq!((sink.subscriptions(), sink.missed()), (0, 0));
}

#[tokio::test]
async fn one_that_lags_misses_the_oldest_and_knows_it() {
    let sink = BroadcastSink::with_capacity(4).unwrap();
    let mut prompt = sink.subscribe();
    let lagging = sink.subscribe();
    for number in 0..10 {
        sink.publish(event(number)).unwrap();
        assert_eq!(prompt.next().await.map(|event| event.id.number()), Some(number));
    }
    let missed = Arc::new(sink.clone());
    assert_eq!(missed.missed(), 0, "it is counted once the subscription finds out");
    drop(sink);
    let handle = Arc::into_inner(missed).unwrap();
    let mut lagging = lagging;
    assert_eq!(lagging.next().await.map(|event| event.id.number()), Some(6));
    assert_eq!((lagging.missed(), handle.missed(), prompt.missed()), (6, 6, 0));
    drop(handle);
    assert_eq!(rest(lagging).await, (vec![7, 8, 9], 6));
}

#[test]
fn a_capacity_is_from_1_to_65536() {
    assert!(BroadcastSink::with_capacity(1).is_ok());
    assert!(BroadcastSink::with_capacity(65_536).is_ok());
    for capacity in [0, 65_537, usize::MAX] {
        let error = BroadcastSink::with_capacity(capacity).unwrap_err();
        assert_eq!(error.to_string(), format!("capacity of the broadcast is {capacity}; give it 1 to 65536"));
    }
}
