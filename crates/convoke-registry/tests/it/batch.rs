//! Many waits in one.

use convoke_core::ErrorCode;
use convoke_registry::{Availability, LeaseRequest};
use convoke_testkit::dropped_after;

use crate::fixtures::{id, load, now, registry};

#[tokio::test]
async fn what_is_free_is_given_at_once_and_the_rest_in_the_order_of_the_grants() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(8);
    let mut batch = slots.batch();
    let first = batch.request(5, LeaseRequest::new(&[])).unwrap().unwrap();
    let second = batch.request(0, LeaseRequest::new(&[])).unwrap().unwrap();
    assert!(batch.request(3, LeaseRequest::new(&[])).unwrap().is_none());
    assert!(batch.request(1, LeaseRequest::new(&[])).unwrap().is_none());
    assert_eq!((slots.usage().taken, slots.usage().waiting), (2, 2));
    assert!(dropped_after(1, batch.next()).await.is_none());
    drop((first, second));
    let (index, third) = batch.next().await;
    assert_eq!(index, 3);
    let (index, fourth) = batch.next().await;
    assert_eq!(index, 1);
    assert!(third.is_ok() && fourth.is_ok());
    assert!(dropped_after(1, batch.next()).await.is_none());
    drop((third, fourth));
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn refusals_come_at_once_or_in_line() {
    let registry = registry(&[("a", &[], 1)]);
    let slots = registry.slots(8);
    let mut batch = slots.batch();
    let nobody = id("nobody");
    let refused = batch.request(0, LeaseRequest::new(&[]).preferring(&nobody)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::AgentNotFound);
    let _lease = now(&registry, LeaseRequest::new(&[])).unwrap();
    assert!(batch.request(1, LeaseRequest::new(&[])).unwrap().is_none());
    registry.set_availability("a", Availability::Offline).unwrap();
    let (index, answer) = batch.next().await;
    assert_eq!((index, answer.unwrap_err().code()), (1, ErrorCode::AgentUnavailable));
}

#[tokio::test]
async fn a_wait_that_is_withdrawn_gets_nothing_unless_its_answer_is_on_its_way() {
    let registry = registry(&[("a", &[], 1)]);
    let slots = registry.slots(8);
    let held = now(&registry, LeaseRequest::new(&[])).unwrap();
    let mut batch = slots.batch();
    for index in 0..3 {
        assert!(batch.request(index, LeaseRequest::new(&[])).unwrap().is_none());
    }
    assert!(batch.withdraw(0));
    assert!(!batch.withdraw(0), "once");
    assert!(!batch.withdraw(7), "never asked for");
    assert_eq!(slots.usage().waiting, 2);
    drop(held);
    assert!(!batch.withdraw(1), "granted already");
    let (index, lease) = batch.next().await;
    assert_eq!(index, 1);
    drop(lease);
    let (index, lease) = batch.next().await;
    assert_eq!(index, 2);
    drop(lease);
    // An index may be used again once its wait is over.
    assert!(batch.request(1, LeaseRequest::new(&[])).unwrap().is_some());
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn a_batch_that_is_dropped_gives_everything_back() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(8);
    let held =
        [now(&registry, LeaseRequest::new(&[])).unwrap(), now(&registry, LeaseRequest::new(&[])).unwrap()];
    let mut batch = slots.batch();
    for index in 0..4 {
        assert!(batch.request(index, LeaseRequest::new(&[])).unwrap().is_none());
    }
    // Two are granted and nobody has read them, two wait.
    drop(held);
    assert_eq!(load(&registry, "a"), (2, 0, 2));
    drop(batch);
    assert_eq!(load(&registry, "a"), (0, 0, 0));
    assert_eq!((slots.usage().taken, slots.usage().waiting), (0, 0));
}

#[tokio::test]
async fn waits_of_a_batch_that_is_dropped_leave_the_line_at_once() {
    let registry = registry(&[("a", &[], 1)]);
    let slots = registry.slots(8);
    let _held = now(&registry, LeaseRequest::new(&[])).unwrap();
    let mut batch = slots.batch();
    for index in 0..3 {
        assert!(batch.request(index, LeaseRequest::new(&[])).unwrap().is_none());
    }
    assert_eq!(slots.usage().waiting, 3);
    drop(batch);
    assert_eq!((slots.usage().waiting, load(&registry, "a")), (0, (1, 0, 0)));
}

#[tokio::test]
async fn waits_of_a_batch_stand_in_the_same_line_as_others() {
    let registry = registry(&[("a", &[], 1)]);
    let slots = registry.slots(8);
    let held = now(&registry, LeaseRequest::new(&[])).unwrap();
    let mut batch = slots.batch();
    let mut before = Box::pin(slots.acquire(LeaseRequest::new(&[])));
    assert!(crate::fixtures::poll_once(&mut before).is_pending());
    assert!(batch.request(0, LeaseRequest::new(&[])).unwrap().is_none());
    drop(held);
    assert!(dropped_after(1, batch.next()).await.is_none());
    drop(before.await.unwrap());
    assert!(dropped_after(1, batch.next()).await.unwrap().1.is_ok());
}

#[tokio::test]
async fn a_second_request_under_an_index_takes_the_place_of_the_first() {
    let registry = registry(&[("a", &[], 1)]);
    let slots = registry.slots(8);
    let held = now(&registry, LeaseRequest::new(&[])).unwrap();
    let mut batch = slots.batch();
    for _ in 0..2 {
        assert!(batch.request(7, LeaseRequest::new(&[])).unwrap().is_none());
    }
    assert_eq!(slots.usage().waiting, 1);
    drop(batch);
    assert_eq!(slots.usage().waiting, 0);
    drop(held);
}
