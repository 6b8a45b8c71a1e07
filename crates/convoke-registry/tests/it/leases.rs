//! Who gets a lease at once, who does not, and what a lease is.

use convoke_core::{CapacityPolicy, ErrorCode, TaskError};
use convoke_registry::{Availability, LeaseRequest};

use crate::fixtures::{id, load, now, registry, skills};

#[tokio::test]
async fn idle_agents_are_taken_by_id_until_all_are_full() {
    let registry = registry(&[("b", &["review"], 1), ("a", &["review"], 1), ("c", &[], 1)]);
    let review = skills(&["review"]);
    let request = LeaseRequest::new(&review).with_policy(CapacityPolicy::Reject);
    let first = now(&registry, request).unwrap();
    let second = now(&registry, request).unwrap();
    assert_eq!((first.agent().as_str(), second.agent().as_str()), ("a", "b"));
    let refused = now(&registry, request).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CapacityExhausted);
    assert_eq!(
        refused.to_string(),
        "every agent that could serve is full; wait for capacity, or raise `max_concurrency`"
    );
    drop(first);
    assert_eq!(now(&registry, request).unwrap().agent().as_str(), "a");
}

#[tokio::test]
async fn the_least_used_agent_is_taken_then_the_one_with_less_work_then_the_smallest_id() {
    let registry = registry(&[("a", &[], 2), ("b", &[], 4), ("c", &[], 4)]);
    let mut leases = Vec::new();
    let mut taken = String::new();
    for _ in 0..10 {
        let lease = now(&registry, LeaseRequest::new(&[])).unwrap();
        taken.push_str(lease.agent().as_str());
        leases.push(lease);
    }
    // At one half each, `a` has one task and the others have two.
    assert_eq!(taken, "abcbcabcbc");
}

#[tokio::test]
async fn the_first_reason_that_holds_is_the_one_that_is_told() {
    let registry = registry(&[("full", &["x"], 1), ("drains", &["x"], 1), ("other", &["y"], 1)]);
    registry.set_availability("drains", Availability::Draining).unwrap();
    let full = id("full");
    let lease = now(&registry, LeaseRequest::new(&[]).preferring(&full)).unwrap();
    let check = |skill: &[&str], preferred: Option<&str>, code: ErrorCode, text: &str| {
        let (skills, preferred) = (skills(skill), preferred.map(id));
        let mut request = LeaseRequest::new(&skills).with_policy(CapacityPolicy::Reject);
        request.preferred = preferred.as_ref();
        let error = TaskError::from(now(&registry, request).unwrap_err());
        assert_eq!((error.code(), error.message()), (code, text));
    };
    check(
        &["z"],
        Some("nobody"),
        ErrorCode::AgentNotFound,
        "agent `nobody` is not registered; register it, or leave the preference out",
    );
    check(
        &["y"],
        Some("drains"),
        ErrorCode::CapabilityNotFound,
        "agent `drains` does not have the skill `y`; prefer another, or none, or require less",
    );
    check(
        &["x"],
        Some("drains"),
        ErrorCode::AgentUnavailable,
        "agent `drains` is draining or offline; make one available, or try again later",
    );
    check(
        &["x"],
        Some("full"),
        ErrorCode::CapacityExhausted,
        "agent `full` is full; wait for capacity, or raise `max_concurrency`",
    );
    check(
        &["x", "y"],
        None,
        ErrorCode::CapabilityNotFound,
        "no agent has all the skills `x`, `y`; register one that has, or require less",
    );
    registry.set_availability("other", Availability::Offline).unwrap();
    check(
        &["y"],
        None,
        ErrorCode::AgentUnavailable,
        "every agent that could serve is draining or offline; make one available, or try again later",
    );
    check(
        &["x"],
        None,
        ErrorCode::CapacityExhausted,
        "every agent that could serve is full; wait for capacity, or raise `max_concurrency`",
    );
    drop(lease);
}

#[tokio::test]
async fn a_skill_that_is_required_twice_is_required_once() {
    let registry = registry(&[("a", &["x", "y"], 1)]);
    for ids in [["x", "x", "y"], ["y", "x", "y"]] {
        assert!(now(&registry, LeaseRequest::new(&skills(&ids))).is_ok());
    }
    let twice = skills(&["x", "x"]);
    assert!(now(&registry, LeaseRequest::new(&twice)).is_ok());
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

#[tokio::test]
async fn a_lease_outlives_every_handle_of_the_registry() {
    let registry = registry(&[("a", &["x"], 2)]);
    let lease = now(&registry, LeaseRequest::new(&[])).unwrap();
    let kept = registry.clone();
    drop(registry);
    assert_eq!(load(&kept, "a"), (1, 0, 0));
    drop(kept);
    assert_eq!((lease.agent().as_str(), lease.descriptor().skills.len()), ("a", 1));
    assert!(lease.capabilities().concurrent_execution);
    assert_eq!(format!("{:?}", lease.executor()), format!("AnyExecutor({:?})", lease.capabilities()));
    lease.mark().detach();
    drop(lease);
}

#[tokio::test]
async fn a_mark_counts_its_lease_as_detached_once_and_only_while_it_lives() {
    let registry = registry(&[("a", &[], 2)]);
    let first = now(&registry, LeaseRequest::new(&[])).unwrap();
    let (mark, again) = (first.mark(), first.mark());
    mark.detach();
    again.detach();
    assert_eq!(load(&registry, "a"), (1, 1, 0));
    let second = now(&registry, LeaseRequest::new(&[])).unwrap();
    assert_eq!(load(&registry, "a"), (2, 1, 0));
    drop(first);
    assert_eq!(load(&registry, "a"), (1, 0, 0));
    let third = now(&registry, LeaseRequest::new(&[])).unwrap();
    mark.detach();
    assert_eq!(load(&registry, "a"), (2, 0, 0), "the mark of a lease that is gone marks no other");
    drop((second, third));
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}
