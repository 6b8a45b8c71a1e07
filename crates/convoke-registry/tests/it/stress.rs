//! Many threads that acquire, wait, drop, cancel and change agents: in the end nothing is held.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use convoke_core::CapacityPolicy;
use convoke_registry::{AgentRegistry, Availability, LeaseRequest, Slots};
use convoke_testkit::{ScriptedExecutor, dropped_after};

use crate::fixtures::{agent, id, registry, skills};

const WORKERS: usize = 8;
const ROUNDS: usize = 1_500;

/// One worker's way through the registry; what it does in a round follows from its number.
async fn work(registry: AgentRegistry, slots: Slots, worker: usize) {
    let wanted = [skills(&[]), skills(&["x"]), skills(&["x", "y"]), skills(&["y"])];
    let b = id("b");
    for round in 0..ROUNDS {
        let number = worker * 31 + round;
        let mut request = LeaseRequest::new(&wanted[number % wanted.len()]);
        if number.is_multiple_of(5) {
            request = request.preferring(&b);
        }
        if number.is_multiple_of(7) {
            request = request.with_policy(CapacityPolicy::Reject);
        }
        match number % 4 {
            0 => drop(slots.acquire(request).await),
            1 => drop(dropped_after(1 + number % 3, slots.acquire(request)).await),
            2 => {
                let lease = registry.acquire(request).await;
                tokio::task::yield_now().await;
                if let Ok(lease) = &lease {
                    lease.mark().detach();
                }
            }
            _ => {
                let mut batch = slots.batch();
                let mut held = Vec::new();
                for index in 0..3 {
                    held.extend(batch.request(index, request).ok().flatten());
                }
                batch.withdraw(number % 3);
                if !number.is_multiple_of(8) {
                    dropped_after(1, batch.next()).await;
                }
                drop(held);
                // With answers in it that nobody reads.
                drop(batch);
            }
        }
    }
}

/// Looks until told to stop: at no moment is more taken than there is.
fn watch(registry: &AgentRegistry, slots: &Slots, limit: usize, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for agent in registry.list() {
            assert!(agent.active <= agent.descriptor.max_concurrency && agent.detached <= agent.active);
        }
        assert!(slots.usage().taken <= limit);
        std::thread::yield_now();
    }
}

fn check_rest(registry: &AgentRegistry, slots: &Slots) {
    for agent in registry.list() {
        assert_eq!((agent.active, agent.detached, agent.waiting), (0, 0, 0), "{agent:?}");
    }
    assert_eq!((slots.usage().taken, slots.usage().waiting), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agents_that_stay() {
    let registry = registry(&[("a", &["x"], 2), ("b", &["x", "y"], 1), ("c", &["y"], 3)]);
    let slots = registry.slots(4);
    let over = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (registry, slots, over) = (registry.clone(), slots.clone(), Arc::clone(&over));
        std::thread::spawn(move || watch(&registry, &slots, 4, &over))
    };
    let workers: Vec<_> =
        (0..WORKERS).map(|worker| tokio::spawn(work(registry.clone(), slots.clone(), worker))).collect();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_mins(2), worker).await;
        ended.expect("a wait never ended").unwrap();
    }
    over.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    check_rest(&registry, &slots);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agents_that_come_and_go() {
    let registry = registry(&[("a", &["x"], 2), ("b", &["x", "y"], 1), ("c", &["y"], 3)]);
    let slots = registry.slots(4);
    let over = Arc::new(AtomicBool::new(false));
    let changer = {
        let (registry, over) = (registry.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            for round in 0_usize.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let name = ["a", "b", "c"][round % 3];
                let availability =
                    [Availability::Draining, Availability::Offline, Availability::Available][round / 3 % 3];
                registry.set_availability(name, availability).unwrap();
                // Comes and goes whenever it has no work.
                let guest = agent("guest", &["x", "y"], 1);
                if registry.add(guest, ScriptedExecutor::new([])).is_err() {
                    let _ = registry.remove("guest");
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let workers: Vec<_> =
        (0..WORKERS).map(|worker| tokio::spawn(work(registry.clone(), slots.clone(), worker))).collect();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_mins(2), worker).await;
        ended.expect("a wait never ended").unwrap();
    }
    over.store(true, Ordering::Relaxed);
    changer.await.unwrap();
    check_rest(&registry, &slots);
}
