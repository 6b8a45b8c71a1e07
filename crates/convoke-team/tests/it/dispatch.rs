//! Who gets a request, and why nobody does.

use convoke_core::{CapacityPolicy, ErrorCode, TaskRequest, TaskStatus};
use convoke_registry::{AgentRegistry, Availability};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, registry, settle, task};

/// Both have `review`; `b` came first.
fn two_reviewers(executor: &ScriptedExecutor) -> AgentRegistry {
    registry([
        (agent("b").with_skill("review"), executor.clone()),
        (agent("a").with_skill("review"), executor.clone()),
    ])
}

#[tokio::test(start_paused = true)]
async fn a_required_skill_finds_the_agent_that_has_it() {
    let (writer, reviewer) = (ScriptedExecutor::new([]), ScriptedExecutor::new([Step::reply("read")]));
    let house = House::new(registry([
        (agent("writer").with_skill("write"), writer.clone()),
        (agent("reviewer").with_skill("review"), reviewer.clone()),
    ]));
    let report = house.run(TaskRequest::new("Draft text").requiring("review")).await;
    assert!(report.is_success());
    assert_eq!(report.agent.unwrap().as_str(), "reviewer");
    writer.assert_done();
    reviewer.assert_done();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn every_required_skill_counts() {
    let executor = ScriptedExecutor::echo();
    let house = House::new(registry([
        (agent("half").with_skill("write"), executor.clone()),
        (agent("whole").with_skill("write").with_skill("review"), executor),
    ]));
    let report = house.run(TaskRequest::new("x").requiring("review").requiring("write")).await;
    assert_eq!(report.agent.unwrap().as_str(), "whole");
    let report = house.run(TaskRequest::new("x").requiring("Write")).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::CapabilityNotFound);
}

#[tokio::test(start_paused = true)]
async fn idle_agents_are_taken_by_id_and_a_request_that_does_not_wait_is_refused_when_all_are_full() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("read").after(&gated));
    let house = House::new(two_reviewers(&executor));
    let request = || TaskRequest::new("x").requiring("review").with_capacity(CapacityPolicy::Reject);

    let first = house.team.spawn(request());
    gate.arrived(1).await;
    assert_eq!((house.load("a").0, house.load("b").0), (1, 0));
    let second = house.team.spawn(request());
    gate.arrived(2).await;
    assert_eq!((house.load("a").0, house.load("b").0), (1, 1));
    let third = house.run(request()).await;
    assert_end(&third, TaskStatus::Blocked, ErrorCode::CapacityExhausted);
    assert_eq!(third.agent, None);

    gate.open();
    assert_eq!(first.await.unwrap().agent.unwrap().as_str(), "a");
    assert_eq!(second.await.unwrap().agent.unwrap().as_str(), "b");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_wait_for_an_agent_still_waits_for_a_slot() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("read").after(&gated));
    let house = House::built(two_reviewers(&executor), |builder| builder.max_parallel_tasks(1));
    let first = house.team.spawn(TaskRequest::new("x"));
    gate.arrived(1).await;
    let second = house.team.spawn(TaskRequest::new("x").with_capacity(CapacityPolicy::Reject));
    settle().await;
    assert_eq!((house.slots().taken, house.slots().waiting), (1, 1));
    gate.open();
    assert!(first.await.unwrap().is_success());
    assert!(second.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn the_first_reason_that_holds_is_the_one_that_is_told() {
    let executor = ScriptedExecutor::new([]);
    let check = async |request: TaskRequest, expected| {
        let registry = registry([
            (agent("draining").with_skill("review"), executor.clone()),
            (agent("offline").with_skill("review"), executor.clone()),
            (agent("free").with_skill("write"), executor.clone()),
        ]);
        registry.set_availability("draining", Availability::Draining).unwrap();
        registry.set_availability("offline", Availability::Offline).unwrap();
        let house = House::new(registry);
        let request = request.with_id("t").in_session("s");
        let report = house.run(request).await;
        assert_end(&report, TaskStatus::Blocked, expected);
        assert_eq!((report.agent, report.attempt), (None, 1));
        assert_eq!(house.events.names(), ["submitted", "blocked"]);
        assert_eq!(house.record("s", "t").status, TaskStatus::Blocked);
        house.assert_rest();
    };
    let new = || TaskRequest::new("x");
    check(new().preferring("nobody").requiring("review"), ErrorCode::AgentNotFound).await;
    // Lacks the skill and is draining: the skill comes first.
    check(new().preferring("draining").requiring("write"), ErrorCode::CapabilityNotFound).await;
    check(new().preferring("draining").requiring("review"), ErrorCode::AgentUnavailable).await;
    check(new().preferring("offline"), ErrorCode::AgentUnavailable).await;
    check(new().requiring("review"), ErrorCode::AgentUnavailable).await;
    check(new().requiring("sing"), ErrorCode::CapabilityNotFound).await;
    check(new().requiring("review").requiring("write"), ErrorCode::CapabilityNotFound).await;
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_preferred_agent_is_taken_although_another_is_less_loaded() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("read").after(&gated));
    let house = House::new(registry([
        (agent("a").with_max_concurrency(2), executor.clone()),
        (agent("b").with_max_concurrency(2), executor),
    ]));
    let first = house.team.spawn(TaskRequest::new("x").preferring("b"));
    let second = house.team.spawn(TaskRequest::new("x").preferring("b"));
    gate.arrived(2).await;
    assert_eq!((house.load("a").0, house.load("b").0), (0, 2));
    let third = house.run(TaskRequest::new("x").preferring("b").with_capacity(CapacityPolicy::Reject)).await;
    assert_end(&third, TaskStatus::Blocked, ErrorCode::CapacityExhausted);
    gate.open();
    assert!(first.await.unwrap().is_success() && second.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_refused_id_is_usable_once_an_agent_is_there() {
    let house = House::new(AgentRegistry::new());
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::CapabilityNotFound);
    house.registry.add(agent("a"), ScriptedExecutor::echo()).unwrap();
    let report = house.run(task("t")).await;
    assert!(report.is_success());
    assert_eq!(report.attempt, 2);
}
