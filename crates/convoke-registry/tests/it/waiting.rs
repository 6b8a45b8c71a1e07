//! Waiting for a place: in line, until there is one, there can be none, or the wait is dropped.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake},
};

use convoke_core::ErrorCode;
use convoke_registry::{AgentRegistry, Availability, Lease, LeaseRequest, Refusal};
use convoke_testkit::ScriptedExecutor;

use crate::fixtures::{agent, id, load, now, poll_once, registry, skills};

/// A registry whose one agent has one place, which is taken.
fn busy() -> (AgentRegistry, Lease) {
    let registry = registry(&[("a", &["x"], 1)]);
    let lease = now(&registry, LeaseRequest::new(&[])).unwrap();
    (registry, lease)
}

#[track_caller]
fn code(answer: Poll<Result<Lease, Refusal>>) -> ErrorCode {
    match answer {
        Poll::Ready(Err(refusal)) => refusal.code(),
        other => panic!("{other:?} is no refusal"),
    }
}

#[tokio::test]
async fn a_wait_ends_with_the_place_that_becomes_free() {
    let (registry, lease) = busy();
    let mut wait = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    assert!(poll_once(&mut wait).is_pending());
    assert_eq!(load(&registry, "a"), (1, 0, 1));
    drop(lease);
    assert_eq!(load(&registry, "a"), (1, 0, 0), "granted before the wait is polled again");
    let lease = wait.await.unwrap();
    drop(lease);
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn places_go_to_those_who_came_first_whatever_they_ask_for() {
    let (registry, lease) = busy();
    let (x, a) = (skills(&["x"]), id("a"));
    let mut first = Box::pin(registry.acquire(LeaseRequest::new(&x)));
    let mut second = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    let mut third = Box::pin(registry.acquire(LeaseRequest::new(&[]).preferring(&a)));
    let mut fourth = Box::pin(registry.acquire(LeaseRequest::new(&x)));
    for wait in [&mut first, &mut second, &mut third, &mut fourth] {
        assert!(poll_once(wait).is_pending());
    }
    assert_eq!(load(&registry, "a"), (1, 0, 4));
    let mut held = lease;
    for (wait, waiting) in [(first, 3), (second, 2), (third, 1), (fourth, 0)] {
        drop(held);
        assert_eq!(load(&registry, "a"), (1, 0, waiting));
        held = wait.await.unwrap();
    }
}

#[tokio::test]
async fn a_wait_that_is_dropped_leaves_no_trace_and_the_next_one_moves_up() {
    let (registry, lease) = busy();
    let mut first = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    let mut second = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
    drop(first);
    assert_eq!(load(&registry, "a"), (1, 0, 1));
    drop(lease);
    assert!(matches!(poll_once(&mut second), Poll::Ready(Ok(_))));
}

#[tokio::test]
async fn a_grant_that_crosses_the_end_of_its_wait_goes_to_the_next_one_at_once() {
    let (registry, lease) = busy();
    let mut waits: Vec<_> = (0..3).map(|_| Box::pin(registry.acquire(LeaseRequest::new(&[])))).collect();
    for wait in &mut waits {
        assert!(poll_once(wait).is_pending());
    }
    drop(lease);
    let mut last = waits.pop().unwrap();
    for wait in waits {
        // It has the grant, and nobody has seen it yet.
        assert_eq!(load(&registry, "a").0, 1);
        drop(wait);
    }
    assert_eq!(load(&registry, "a"), (1, 0, 0));
    assert!(matches!(poll_once(&mut last), Poll::Ready(Ok(_))));
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

/// Drops a wait when it is woken.
struct DropOnWake(Mutex<Option<Wait>>);

type Wait = Pin<Box<dyn Future<Output = Result<Lease, Refusal>> + Send>>;

impl Wake for DropOnWake {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[tokio::test]
async fn a_grant_whose_wait_ends_before_it_is_told_goes_to_the_next_one() {
    let registry = registry(&[("a", &[], 2)]);
    let held =
        [now(&registry, LeaseRequest::new(&[])).unwrap(), now(&registry, LeaseRequest::new(&[])).unwrap()];
    let wait = || -> Wait {
        let registry = registry.clone();
        Box::pin(async move { registry.acquire(LeaseRequest::new(&[])).await })
    };
    let (mut first, mut second, mut third) = (wait(), wait(), wait());
    let waker = Arc::new(DropOnWake(Mutex::default()));
    assert!(first.as_mut().poll(&mut Context::from_waker(&Arc::clone(&waker).into())).is_pending());
    assert!(poll_once(&mut second).is_pending() && poll_once(&mut third).is_pending());
    // Two grants come of one call; telling of the first ends the wait that has the other.
    *waker.0.lock().unwrap() = Some(second);
    registry.add(agent("b", &[], 2), ScriptedExecutor::new([])).unwrap();
    assert!(waker.0.lock().unwrap().is_none());
    let Poll::Ready(Ok(lease)) = poll_once(&mut first) else { panic!("it was granted") };
    assert!(matches!(poll_once(&mut third), Poll::Ready(Ok(_))));
    drop((lease, held));
    assert_eq!((load(&registry, "a"), load(&registry, "b")), ((0, 0, 0), (0, 0, 0)));
}

#[tokio::test]
async fn a_wait_that_is_never_polled_does_nothing() {
    let (registry, lease) = busy();
    let wait = registry.acquire(LeaseRequest::new(&[]));
    assert_eq!(load(&registry, "a"), (1, 0, 0));
    drop((wait, lease));
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn a_wait_that_nobody_can_serve_any_more_is_refused_at_once() {
    for availability in [Availability::Draining, Availability::Offline] {
        let (registry, _lease) = busy();
        let (x, a) = (skills(&["x"]), id("a"));
        let mut by_skill = Box::pin(registry.acquire(LeaseRequest::new(&x)));
        let mut by_name = Box::pin(registry.acquire(LeaseRequest::new(&x).preferring(&a)));
        assert!(poll_once(&mut by_skill).is_pending() && poll_once(&mut by_name).is_pending());
        registry.set_availability("a", availability).unwrap();
        assert_eq!(code(poll_once(&mut by_skill)), ErrorCode::AgentUnavailable);
        assert_eq!(code(poll_once(&mut by_name)), ErrorCode::AgentUnavailable);
        assert_eq!(load(&registry, "a").2, 0);
    }
}

#[tokio::test]
async fn a_wait_goes_on_while_one_agent_is_left_that_could_serve_it() {
    let registry = registry(&[("a", &["x"], 1), ("b", &["x"], 1)]);
    let x = skills(&["x"]);
    let leases =
        [now(&registry, LeaseRequest::new(&x)).unwrap(), now(&registry, LeaseRequest::new(&x)).unwrap()];
    let mut wait = Box::pin(registry.acquire(LeaseRequest::new(&x)));
    assert!(poll_once(&mut wait).is_pending());
    registry.set_availability("a", Availability::Offline).unwrap();
    assert!(poll_once(&mut wait).is_pending());
    registry.set_availability("b", Availability::Draining).unwrap();
    assert_eq!(code(poll_once(&mut wait)), ErrorCode::AgentUnavailable);
    drop(leases);
}

#[tokio::test]
async fn a_wait_hears_that_its_agent_was_removed() {
    // A limit without slots makes requests wait that an idle agent could serve.
    let registry = registry(&[("a", &["x"], 1), ("b", &["x"], 1)]);
    let slots = registry.slots(1);
    let a = id("a");
    let held = slots.acquire(LeaseRequest::new(&[]).preferring(&a)).await.unwrap();
    let (x, b) = (skills(&["x"]), id("b"));
    let mut by_name = Box::pin(slots.acquire(LeaseRequest::new(&[]).preferring(&b)));
    let mut by_skill = Box::pin(slots.acquire(LeaseRequest::new(&x)));
    assert!(poll_once(&mut by_name).is_pending() && poll_once(&mut by_skill).is_pending());
    registry.remove("b").unwrap();
    assert_eq!(code(poll_once(&mut by_name)), ErrorCode::AgentNotFound);
    assert!(poll_once(&mut by_skill).is_pending(), "`a` is left");
    drop(held);
    assert!(matches!(poll_once(&mut by_skill), Poll::Ready(Ok(_))));
    assert_eq!(slots.usage().waiting, 0);
}

#[tokio::test]
async fn a_wait_is_served_by_an_agent_that_comes_or_becomes_available() {
    let (registry, _lease) = busy();
    let mut first = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    let mut second = Box::pin(registry.acquire(LeaseRequest::new(&[])));
    assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
    registry.add(agent("b", &[], 1), ScriptedExecutor::new([])).unwrap();
    let Poll::Ready(Ok(lease)) = poll_once(&mut first) else { panic!("`b` is free") };
    assert_eq!(lease.agent().as_str(), "b");
    registry.set_availability("b", Availability::Draining).unwrap();
    drop(lease);
    assert!(poll_once(&mut second).is_pending());
    registry.set_availability("b", Availability::Available).unwrap();
    assert!(matches!(poll_once(&mut second), Poll::Ready(Ok(_))));
}

#[tokio::test]
async fn a_stream_for_one_skill_does_not_starve_an_older_request_for_two() {
    let registry = registry(&[("ab", &["a", "b"], 1)]);
    let (one, both) = (skills(&["a"]), skills(&["a", "b"]));
    let lease = now(&registry, LeaseRequest::new(&one)).unwrap();
    let mut older = Box::pin(registry.acquire(LeaseRequest::new(&both)));
    assert!(poll_once(&mut older).is_pending());
    let mut stream: Vec<_> = (0..20).map(|_| Box::pin(registry.acquire(LeaseRequest::new(&one)))).collect();
    for wait in &mut stream {
        assert!(poll_once(wait).is_pending());
    }
    drop(lease);
    assert!(matches!(poll_once(&mut older), Poll::Ready(Ok(_))));
    drop(stream);
    assert_eq!(load(&registry, "ab"), (0, 0, 0));
}
