//! Ends, withdrawals and stale keys in any order leave nothing behind.

use std::collections::BTreeSet;

use proptest::{prelude::*, sample::Index};

use convoke_core::{AgentId, CapacityPolicy};

use super::{
    house::House,
    random::cases,
    rules::{Call, Request, Wanted},
};
use crate::dispatch::{Ask, Decision, Dispatch, Want};

/// A team in which every kind of claim is there: lender, borrowers, one in line for both, one awaited and not in line.
fn busy() -> House {
    let mut house = House::new(2, &[("a", 1), ("b", 1), ("c", 1), ("d", 2)]);
    house.asks('P', "a");
    house.calls('P', 'C', "b");
    house.calls('C', 'D', "c");
    house.calls('P', 'E', "d");
    assert_eq!(house.calls('P', 'F', "b"), "waits");
    assert_eq!(house.rejects('C', 'G', "d"), "waits");
    assert_eq!(house.asks('X', "a"), "waits");
    house.call(&Call::Claim { task: 'I', pool: 0 });
    house.awaits('P', 'I');
    house.call(&Call::Request(Request { pool: 1, ..Request::new('Y', Wanted::Slot) }));
    house
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_order_of_ends_leaves_nothing(calls in proptest::collection::vec((any::<Index>(), 0..5usize), 0..40)) {
        let mut house = busy();
        let names: Vec<_> = house.both.claims.keys().copied().collect();
        for (task, call) in calls {
            let task = *task.get(&names);
            house.call(&match call {
                0 => Call::Release { task },
                1 => Call::Withdraw { task },
                2 => Call::Detach { task },
                3 => Call::CloseWait { wait: task },
                _ => Call::ForfeitSlot { task },
            });
        }
        house.empties();
    }

    #[test]
    fn many_waits_end_in_any_order(
        awaiters in Just(vec!['P', 'Q', 'R', 'S']).prop_shuffle(),
        children in Just(vec!['A', 'B', 'C', 'D']).prop_shuffle(),
    ) {
        let mut house = House::new(12, &[("a", 4), ("b", 8)]);
        for (awaiter, child) in "PQRS".chars().zip("EFGH".chars()) {
            house.asks(awaiter, "a");
            house.calls(awaiter, child, "b");
        }
        for child in "ABCD".chars() {
            house.calls('P', child, "b");
        }
        for child in children {
            house.ends(child);
        }
        for awaiter in awaiters {
            house.stops_waiting(awaiter);
        }
        house.empties();
    }
}

#[test]
fn a_refused_request_leaves_nothing() {
    let mut house = House::new(2, &[("a", 1)]);
    house.asks('P', "a");
    assert_eq!(house.calls('P', 'C', "a"), "wait_cycle");
    assert_eq!(house.rejects('P', 'D', "a"), "capacity_exhausted");
    assert_eq!(house.asks('E', "nobody"), "agent_not_found");
    house.stops_waiting('P');
    house.ends('P');
    assert_eq!(house.both.machine.in_use(), [0, 0, 0, 2]);
}

#[test]
fn a_lender_that_ends_takes_the_line_for_its_slot_away() {
    let mut house = House::new(1, &[("a", 1), ("b", 1), ("c", 1)]);
    house.asks('P', "a");
    house.calls('P', 'C', "b");
    house.calls('P', 'D', "c");
    assert_eq!(house.both.machine.in_use(), [3, 1, 2, 3]);
    house.ends('P');
    assert_eq!(house.both.machine.in_use(), [2, 0, 1, 2], "`C` has its own slot, and `D` waits for one");
    house.withdraws('D');
    house.ends('C');
    assert_eq!(house.both.machine.in_use(), [0, 0, 0, 2]);
}

#[test]
fn a_claim_is_used_once() {
    let mut machine = Dispatch::new();
    let pool = machine.open_pool(1);
    machine.register(AgentId::new("a").unwrap(), BTreeSet::new(), 3).unwrap();
    let claim = machine.claim(None, pool);
    let want = Want::Agent { skills: &[], preferred: None, policy: CapacityPolicy::Wait };
    let ask = Ask { want, pool, task: None, claim: Some(claim), awaited_in: None };
    let mut keys = Vec::new();
    for waiter in 0..3 {
        match machine.request(ask, || waiter).unwrap() {
            Decision::Granted(key, _) | Decision::Queued(key) => keys.push(key),
        }
        machine.check();
    }
    assert_eq!(keys.first(), Some(&claim));
    for key in keys {
        machine.release(key);
        machine.check();
    }
    assert_eq!(machine.take_effects().len(), 2, "each of the three was granted");
    assert_eq!(machine.in_use(), [0, 0, 0, 1]);
}

#[test]
fn a_pool_that_is_closed_leaves_its_leases() {
    let mut machine: Dispatch<usize> = Dispatch::new();
    let pool = machine.open_pool(1);
    machine.register(AgentId::new("a").unwrap(), BTreeSet::new(), 1).unwrap();
    let want = Want::Agent { skills: &[], preferred: None, policy: CapacityPolicy::Wait };
    let ask = Ask { want, pool, task: None, claim: None, awaited_in: None };
    let Ok(Decision::Granted(key, Some(agent))) = machine.request(ask, || 0) else { panic!("granted") };
    machine.close_pool(pool);
    assert_eq!(machine.agent_load(agent).map(|load| load.active), Some(1));
    machine.release(key);
    assert_eq!(machine.agent_load(agent).map(|load| load.active), Some(0));
    assert_eq!(machine.in_use(), [0, 0, 0, 0]);
}
