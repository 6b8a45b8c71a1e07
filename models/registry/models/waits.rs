//! Who waits for whom, and the slots that are lent.

use std::{future::poll_fn, pin::pin, task::Poll};

use shuttle::{future::block_on, thread};

use convoke_core::{AgentId, TaskId};

use super::{House, is_wait_cycle, poll_once};
use crate::{Availability, LeaseRequest, Refusal};

pub(super) fn closed_while_queued() {
    let house = House::new(1, &[("a", 1), ("b", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let (child, wait_id) = (house.clone(), wait.id());
    let child = thread::spawn(move || {
        let lease = child.acquire("b", Some(wait_id)).unwrap();
        child.check();
        drop(lease);
    });
    drop(wait);
    house.check();
    let [_, waits, ..] = house.registry.shared.with_dispatch(|dispatch| dispatch.in_use());
    assert_eq!(waits, 0, "before the task itself ends");
    drop(lease);
    child.join().unwrap();
    house.is_quiet();
}

/// Two parents that have each other's agent, each on a thread of its own; the number of those that were refused.
fn two_parents(agents: [&'static str; 2]) -> usize {
    let house = House::new(2, &[("a", 1), ("b", 1)]);
    let leases = [house.acquire("a", None).unwrap(), house.acquire("b", None).unwrap()];
    let parents: Vec<_> = leases
        .into_iter()
        .zip(agents)
        .map(|(lease, agent)| {
            let house = house.clone();
            thread::spawn(move || {
                let wait = house.runs(&lease).wait().unwrap();
                let child = house.acquire(agent, Some(wait.id()));
                let is_refused = is_wait_cycle(&child);
                assert!(is_refused || child.is_ok(), "{child:?}");
                drop((child, wait, lease));
                usize::from(is_refused)
            })
        })
        .collect();
    let refused = parents.into_iter().map(|parent| parent.join().unwrap()).sum();
    house.is_quiet();
    refused
}

pub(super) fn each_other() {
    // Whoever comes too late for the circle finds the other parent gone.
    assert!(two_parents(["b", "a"]) <= 1);
}

pub(super) fn awaited_and_asked() {
    let house = House::new(2, &[("a", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let claim = house.slots.claim(&TaskId::new("independent").unwrap());
    let (key, refused) = (claim.key(), claim.refused_wait());
    let asking = house.clone();
    let asking = thread::spawn(move || {
        let agent = AgentId::new("a").unwrap();
        let request = LeaseRequest::new(&[]).preferring(&agent).claimed(Some(&claim));
        drop(block_on(asking.slots.acquire(request)).unwrap());
    });
    let wait = house.runs(&lease).wait().unwrap();
    // Whoever comes second finds the circle: the one that awaits, which then is refused, or the one that asks, which
    // tells it. Either way the task itself goes on once the other has given up.
    if wait.on(key).is_ok() {
        let told = poll_fn(|cx| refused.poll(cx).map_or(Poll::Pending, Poll::Ready));
        assert!(matches!(block_on(told), Refusal::WaitCycle { .. }));
    }
    house.check();
    drop((wait, lease));
    asking.join().unwrap();
    house.is_quiet();
}

pub(super) fn lender_ends() {
    let house = House::new(1, &[("a", 1), ("b", 1), ("c", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let (child, stranger, wait_id) = (house.clone(), house.clone(), wait.id());
    let child = thread::spawn(move || {
        let lease = child.acquire("b", Some(wait_id)).unwrap();
        child.work(lease, 1);
    });
    let stranger = thread::spawn(move || {
        let lease = stranger.acquire("c", None).unwrap();
        stranger.work(lease, 1);
    });
    thread::yield_now();
    drop(lease);
    drop(wait);
    child.join().unwrap();
    stranger.join().unwrap();
    house.is_quiet();
}

pub(super) fn lets_go() {
    let house = House::new(1, &[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let child = house.acquire("b", Some(wait.id())).unwrap();
    let (parent, stranger) = (house.clone(), house.clone());
    let parent = thread::spawn(move || {
        drop(wait);
        let wait = parent.runs(&lease).wait().unwrap();
        // The slot is back at once, whether or not the child has ended.
        let mut other = pin!(parent.waits_for("c", "other", Some(wait.id())));
        let Poll::Ready(Ok(other)) = poll_once(other.as_mut()) else { unreachable!("the slot is not back") };
        parent.check();
        drop((other, wait, lease));
    });
    let stranger = thread::spawn(move || {
        let lease = stranger.acquire("d", None).unwrap();
        assert_eq!(stranger.slots.usage().taken, 1, "nothing is granted beyond the limit");
        drop(lease);
    });
    thread::yield_now();
    drop(child);
    parent.join().unwrap();
    stranger.join().unwrap();
    house.is_quiet();
}

pub(super) fn lets_go_of_what_detaches() {
    let house = House::new(1, &[("a", 1), ("b", 1), ("c", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let child = house.acquire("b", Some(wait.id())).unwrap();
    let mark = child.mark();
    let letting_go = thread::spawn(move || drop(wait));
    let driver = thread::spawn(move || mark.detach());
    letting_go.join().unwrap();
    driver.join().unwrap();
    house.check();
    // Whichever of the two was first, the child goes on without a slot.
    assert_eq!(house.slots.usage().taken, 1);
    drop(lease);
    drop(house.acquire("c", None).unwrap());
    drop(child);
    house.is_quiet();
}

pub(super) fn child_detaches() {
    let house = House::new(1, &[("a", 1), ("b", 1), ("c", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let child = house.acquire("b", Some(wait.id())).unwrap();
    let mark = child.mark();
    let ending = thread::spawn(move || drop(child));
    let driver = thread::spawn(move || mark.detach());
    // The slot comes back whichever of the two is first.
    let other = house.acquire("c", Some(wait.id())).unwrap();
    house.check();
    drop(other);
    driver.join().unwrap();
    ending.join().unwrap();
    drop((wait, lease));
    house.is_quiet();
}

pub(super) fn agent_goes() {
    let house = House::new(3, &[("a", 1), ("b", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let stranger = house.acquire("b", None).unwrap();
    let wait = house.runs(&lease).wait().unwrap();
    let host = house.registry.clone();
    let host = thread::spawn(move || host.set_availability("b", Availability::Offline).unwrap());
    let leaving = thread::spawn(move || drop(stranger));
    // `a` is the waiter's own: without `b` the wait could never end.
    let task = TaskId::new("child").unwrap();
    let request = LeaseRequest::new(&[]).of_task(&task).awaited_in(Some(wait.id()));
    let child = block_on(house.slots.acquire(request));
    assert!(is_wait_cycle(&child) || child.as_ref().is_ok_and(|child| child.agent().as_str() == "b"));
    house.check();
    drop(child);
    host.join().unwrap();
    leaving.join().unwrap();
    drop((wait, lease));
    house.is_quiet();
}
