//! Many waits that are answered through one queue.

use convoke_core::AgentId;
use shuttle::{future::block_on, thread};

use super::House;
use crate::{Lease, LeaseBatch, LeaseRequest};

/// A batch with two waits for an agent whose one place is taken, and what takes it.
fn two_waits(house: &House) -> (LeaseBatch, Lease) {
    let lease = house.acquire("a", None).unwrap();
    let mut batch = house.slots.batch();
    for index in 0..2 {
        assert!(request(&mut batch, index).is_none());
    }
    (batch, lease)
}

fn request(batch: &mut LeaseBatch, index: usize) -> Option<Lease> {
    let agent = AgentId::new("a").unwrap();
    batch.request(index, LeaseRequest::new(&[]).preferring(&agent)).unwrap()
}

pub(super) fn withdrawn_or_answered() {
    let house = House::new(2, &[("a", 1)]);
    let (mut batch, lease) = two_waits(&house);
    let releasing = thread::spawn(move || drop(lease));
    let mut answers = vec![0, 1];
    if batch.withdraw(0) {
        answers.retain(|&index| index != 0);
    }
    while !answers.is_empty() {
        let (index, lease) = block_on(batch.next());
        let place = answers.iter().position(|&one| one == index).expect("answered once, and not withdrawn");
        answers.remove(place);
        house.work(lease.unwrap(), 1);
    }
    releasing.join().unwrap();
    assert!(!batch.withdraw(1));
    house.is_quiet();
}

pub(super) fn dropped() {
    let house = House::new(2, &[("a", 1)]);
    let (batch, lease) = two_waits(&house);
    let other = house.clone();
    let other = thread::spawn(move || other.work(other.acquire("a", None).unwrap(), 1));
    let dropping = thread::spawn(move || drop(batch));
    let releasing = thread::spawn(move || drop(lease));
    dropping.join().unwrap();
    assert!(house.slots.usage().waiting <= 1, "nobody but the other waits");
    releasing.join().unwrap();
    other.join().unwrap();
    house.is_quiet();
}
