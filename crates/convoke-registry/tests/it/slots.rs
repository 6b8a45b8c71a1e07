//! Limits that leases share.

use std::task::Poll;

use convoke_core::CapacityPolicy;
use convoke_registry::{LeaseRequest, SlotUsage};

use crate::fixtures::{id, load, now, poll_once, registry};

#[track_caller]
fn assert_usage(usage: SlotUsage, taken: usize, waiting: usize) {
    assert_eq!((usage.taken, usage.waiting), (taken, waiting));
}

#[tokio::test]
async fn who_waits_holds_neither_a_slot_nor_a_place() {
    let registry = registry(&[("a", &[], 1), ("b", &[], 1)]);
    let (a, b) = (id("a"), id("b"));
    let slots = registry.slots(2);
    let first = slots.acquire(LeaseRequest::new(&[]).preferring(&a)).await.unwrap();
    let mut waits_for_a = Box::pin(slots.acquire(LeaseRequest::new(&[]).preferring(&a)));
    assert!(poll_once(&mut waits_for_a).is_pending());
    assert_usage(slots.usage(), 1, 1);
    let second = slots.acquire(LeaseRequest::new(&[]).preferring(&b)).await.unwrap();
    assert_usage(slots.usage(), 2, 1);
    drop(second);
    let outside = now(&registry, LeaseRequest::new(&[]).preferring(&b)).unwrap();
    drop(first);
    assert_usage(slots.usage(), 1, 0);
    drop((waits_for_a, outside));
    assert_usage(slots.usage(), 0, 0);
    assert_eq!((load(&registry, "a"), load(&registry, "b")), ((0, 0, 0), (0, 0, 0)));
}

#[tokio::test]
async fn leases_outside_a_limit_take_no_slot_of_it() {
    let registry = registry(&[("a", &[], 3)]);
    let (one, two) = (registry.slots(1), registry.slots(1));
    let outside = registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let first = one.acquire(LeaseRequest::new(&[])).await.unwrap();
    let second = two.acquire(LeaseRequest::new(&[])).await.unwrap();
    assert_usage(one.usage(), 1, 0);
    assert_usage(two.usage(), 1, 0);
    drop((outside, first));
    assert_usage(one.usage(), 0, 0);
    assert_usage(two.usage(), 1, 0);
    drop(second);
}

#[tokio::test]
async fn one_that_does_not_wait_for_a_place_still_waits_for_a_slot() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(1);
    let request = LeaseRequest::new(&[]).with_policy(CapacityPolicy::Reject);
    let first = slots.acquire(request).await.unwrap();
    let mut wait = Box::pin(slots.acquire(request));
    assert!(poll_once(&mut wait).is_pending());
    drop(first);
    assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(_))));
}

#[tokio::test]
async fn a_clone_shares_the_limit() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(1);
    let held = slots.clone().acquire(LeaseRequest::new(&[])).await.unwrap();
    assert_usage(slots.usage(), 1, 0);
    assert!(poll_once(&mut Box::pin(slots.acquire(LeaseRequest::new(&[])))).is_pending());
    drop(held);
    assert_eq!(format!("{slots:?}"), "Slots { usage: SlotUsage { taken: 0, waiting: 0 } }");
}

#[tokio::test]
async fn leases_of_a_limit_that_is_gone_free_their_places_all_the_same() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(2);
    let leases = [
        slots.acquire(LeaseRequest::new(&[])).await.unwrap(),
        slots.acquire(LeaseRequest::new(&[])).await.unwrap(),
    ];
    let mut wait = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    assert!(poll_once(&mut wait).is_pending());
    drop(slots);
    // A new limit does not inherit what the old one had.
    let other = registry.slots(2);
    assert_usage(other.usage(), 0, 0);
    drop(leases);
    assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(_))));
    assert_usage(other.usage(), 0, 0);
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn slots_go_round_the_limits_by_who_waits_longest() {
    let registry = registry(&[("a", &[], 1)]);
    let (one, two) = (registry.slots(1), registry.slots(1));
    let held = now(&registry, LeaseRequest::new(&[])).unwrap();
    let mut older = Box::pin(one.acquire(LeaseRequest::new(&[])));
    let mut younger = Box::pin(two.acquire(LeaseRequest::new(&[])));
    assert!(poll_once(&mut older).is_pending() && poll_once(&mut younger).is_pending());
    drop(held);
    let Poll::Ready(Ok(lease)) = poll_once(&mut older) else { panic!("it is older") };
    assert!(poll_once(&mut younger).is_pending());
    drop(lease);
    assert!(matches!(poll_once(&mut younger), Poll::Ready(Ok(_))));
}
