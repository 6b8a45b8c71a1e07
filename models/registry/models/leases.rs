//! Units and slots, taken and given back.

use std::{pin::pin, task::Poll};

use convoke_core::{ErrorCode, TaskId};
use shuttle::{future::block_on, thread};

use super::{House, poll_once};
use crate::{Availability, LeaseRequest, SlotRequest};

pub(super) fn never_too_much() {
    let house = House::new(2, &[("a", 1), ("b", 2)]);
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let house = house.clone();
            thread::spawn(move || {
                let lease = block_on(house.slots.acquire(LeaseRequest::new(&[]))).unwrap();
                house.check();
                house.work(lease, 2);
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    house.is_quiet();
}

pub(super) fn grant_crosses_cancellation() {
    let house = House::new(1, &[("a", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let (fickle, patient) = (house.clone(), house.clone());
    let fickle = thread::spawn(move || {
        let mut wait = pin!(fickle.waits_for("a", "fickle", None));
        match poll_once(wait.as_mut()) {
            Poll::Ready(lease) => drop(lease.unwrap()),
            Poll::Pending => thread::yield_now(),
        }
    });
    let patient = thread::spawn(move || patient.work(patient.acquire("a", None).unwrap(), 1));
    thread::yield_now();
    drop(lease);
    fickle.join().unwrap();
    patient.join().unwrap();
    house.is_quiet();
}

pub(super) fn dropped_waits() {
    let house = House::new(1, &[("a", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let house = house.clone();
            thread::spawn(move || assert!(poll_once(pin!(house.waits_for("a", "t", None))).is_pending()))
        })
        .collect();
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(house.slots.usage().waiting, 0, "before anything is free for them");
    drop(lease);
    house.is_quiet();
}

pub(super) fn slot_alone() {
    let house = House::new(1, &[("a", 2)]);
    let other = house.clone();
    let other = thread::spawn(move || {
        let task = TaskId::new("body").unwrap();
        let slot = block_on(other.slots.acquire_slot(SlotRequest::new(&task))).unwrap();
        assert_eq!(other.slots.usage().taken, 1);
        drop(slot);
    });
    house.work(house.acquire("a", None).unwrap(), 1);
    other.join().unwrap();
    house.is_quiet();
}

pub(super) fn detached_given_up_and_ended() {
    let house = House::new(1, &[("a", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let (driver, host) = (lease.mark(), lease.mark());
    let next = house.clone();
    let threads = [
        thread::spawn(move || driver.detach()),
        thread::spawn(move || host.forfeit()),
        thread::spawn(move || drop(lease)),
        thread::spawn(move || drop(next.acquire("a", None).unwrap())),
    ];
    for thread in threads {
        thread.join().unwrap();
        house.check();
    }
    house.is_quiet();
}

pub(super) fn agent_goes() {
    let house = House::new(2, &[("a", 1)]);
    let lease = house.acquire("a", None).unwrap();
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let house = house.clone();
            thread::spawn(move || match house.acquire("a", None) {
                Ok(lease) => house.work(lease, 1),
                Err(refusal) => assert_eq!(refusal.code(), ErrorCode::AgentUnavailable),
            })
        })
        .collect();
    let host = house.registry.clone();
    let host = thread::spawn(move || host.set_availability("a", Availability::Draining).unwrap());
    drop(lease);
    host.join().unwrap();
    for waiter in waiters {
        waiter.join().unwrap();
    }
    house.is_quiet();
}

pub(super) fn agent_is_removed() {
    let house = House::new(1, &[("a", 1), ("b", 1)]);
    // The slot is taken, so that the others wait while both agents are idle or nearly so.
    let lease = house.acquire("a", None).unwrap();
    let waiter = house.clone();
    let waiter = thread::spawn(move || match waiter.acquire("b", None) {
        Ok(lease) => waiter.work(lease, 1),
        Err(refusal) => assert_eq!(refusal.code(), ErrorCode::AgentNotFound),
    });
    let host = house.registry.clone();
    let host = thread::spawn(move || {
        // Refused while `b` works.
        while host.remove("b").is_err() {
            thread::yield_now();
        }
    });
    drop(lease);
    waiter.join().unwrap();
    host.join().unwrap();
    assert!(house.registry.get("b").is_none());
    house.is_quiet();
}
