//! What becomes of waiting tasks when agents come, go, and change.

use convoke_core::{ErrorCode, TaskRequest, TaskStatus};
use convoke_registry::{Availability, LeaseRequest, RegistryError};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, registry, settle, task};

/// A house whose agent `a` has a skill and one place, which is taken.
async fn busy() -> (House, convoke_registry::Lease) {
    let house = House::new(registry([(agent("a").with_skill("x"), ScriptedExecutor::echo())]));
    let lease = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    (house, lease)
}

#[tokio::test(start_paused = true)]
async fn a_wait_whose_last_agent_goes_offline_or_drains_is_refused_at_once() {
    for availability in [Availability::Offline, Availability::Draining] {
        for request in [task("t").requiring("x"), task("t").preferring("a"), task("t")] {
            let (house, lease) = busy().await;
            let handle = house.team.spawn(request);
            settle().await;
            house.registry.set_availability("a", availability).unwrap();
            let report = handle.await.unwrap();
            assert_end(&report, TaskStatus::Blocked, ErrorCode::AgentUnavailable);
            assert_eq!(house.events.names(), ["submitted", "blocked"]);
            drop(lease);
            house.assert_rest();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_that_wait_are_refused_at_once_and_leave_no_record() {
    let (house, _lease) = busy().await;
    let parallel = tokio::spawn(house.team.run_parallel([task("t"), task("u").preferring("a")]));
    settle().await;
    house.registry.set_availability("a", Availability::Offline).unwrap();
    for answer in parallel.await.unwrap() {
        let report = answer.unwrap();
        assert_end(&report, TaskStatus::Blocked, ErrorCode::AgentUnavailable);
        assert_eq!(report.attempt, 0);
    }
    assert!(house.team.session("s").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_while_another_agent_is_left() {
    let (house, lease) = busy().await;
    let gate = Gate::closed();
    let other = ScriptedExecutor::new([Step::reply("held").after(&gate), Step::reply("done")]);
    house.registry.add(agent("b").with_skill("x"), other.clone()).unwrap();
    let first = house.team.spawn(TaskRequest::new("x").preferring("b"));
    gate.arrived(1).await;
    let handle = house.team.spawn(task("t").requiring("x"));
    settle().await;
    house.registry.set_availability("a", Availability::Offline).unwrap();
    settle().await;
    assert_eq!(handle.status(), TaskStatus::Submitted);
    drop(lease);
    settle().await;
    assert_eq!(handle.status(), TaskStatus::Submitted, "an agent that is offline takes nothing");
    gate.open();
    assert_eq!(handle.await.unwrap().agent.unwrap().as_str(), "b");
    assert!(first.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_slot_hears_that_its_agent_is_gone() {
    for (request, code) in [
        (task("t").preferring("b"), ErrorCode::AgentNotFound),
        (task("t").requiring("y"), ErrorCode::CapabilityNotFound),
    ] {
        let gate = Gate::closed();
        let executor = ScriptedExecutor::new([Step::reply("done").after(&gate)]);
        let house = House::built(
            registry([(agent("a"), executor.clone()), (agent("b").with_skill("y"), executor)]),
            |builder| builder.max_parallel_tasks(1),
        );
        let first = house.team.spawn(TaskRequest::new("x").preferring("a"));
        gate.arrived(1).await;
        let handle = house.team.spawn(request);
        settle().await;
        house.registry.remove("b").unwrap();
        assert_end(&handle.await.unwrap(), TaskStatus::Blocked, code);
        gate.open();
        assert!(first.await.unwrap().is_success());
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_registered_serves_who_waits() {
    let (house, _lease) = busy().await;
    let handle = house.team.spawn(task("t").requiring("x"));
    settle().await;
    house.registry.add(agent("b").with_skill("x"), ScriptedExecutor::new([Step::reply("done")])).unwrap();
    assert_eq!(handle.await.unwrap().agent.unwrap().as_str(), "b");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_becomes_available_serves_who_waits() {
    let (house, _lease) = busy().await;
    let executor = ScriptedExecutor::new([Step::reply("done")]);
    house.registry.add(agent("b").with_skill("x"), executor).unwrap();
    house.registry.set_availability("b", Availability::Draining).unwrap();
    let handle = house.team.spawn(task("t").requiring("x"));
    settle().await;
    assert_eq!(handle.status(), TaskStatus::Submitted);
    house.registry.set_availability("b", Availability::Available).unwrap();
    assert_eq!(handle.await.unwrap().agent.unwrap().as_str(), "b");
}

#[tokio::test(start_paused = true)]
async fn work_under_way_ends_well_whatever_becomes_of_its_agent() {
    for availability in [Availability::Draining, Availability::Offline] {
        let gate = Gate::closed();
        let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
        let handle = house.team.spawn(task("t"));
        gate.arrived(1).await;
        house.registry.set_availability("a", availability).unwrap();
        let refused = house.registry.remove("a").unwrap_err();
        assert!(matches!(refused, RegistryError::Busy { active: 1, .. }), "{refused}");
        gate.open();
        assert_eq!(handle.await.unwrap().text(), "done");
        house.assert_rest();
        house.registry.remove("a").unwrap();
        assert_end(&house.run(task("u")).await, TaskStatus::Blocked, ErrorCode::CapabilityNotFound);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_for_one_skill_does_not_starve_an_older_request_for_two() {
    let executor = ScriptedExecutor::answering(|request| {
        Step::reply(request.input.clone()).after_delay(crate::house::ms(10))
    });
    let house = House::new(registry([
        (agent("ab").with_skill("a").with_skill("b"), executor.clone()),
        (agent("a").with_skill("a"), executor.clone()),
    ]));
    let request = |input: &str| TaskRequest::new(input).requiring("a");
    let mut stream = vec![house.team.spawn(request("1")), house.team.spawn(request("2"))];
    settle().await;
    let older = house.team.spawn(request("both").requiring("b"));
    for number in 3..50 {
        settle().await;
        stream.push(house.team.spawn(request(&number.to_string())));
    }
    assert_eq!(older.await.unwrap().agent.unwrap().as_str(), "ab");
    for handle in stream {
        assert!(handle.await.unwrap().is_success());
    }
    // Both agents were free at the same moment, and the first place that could serve it went to the older one.
    let inputs = executor.inputs();
    assert!(inputs.iter().position(|input| input == "both").unwrap() <= 3, "{inputs:?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_one_place_is_served_in_the_order_of_asking() {
    let executor = ScriptedExecutor::echo();
    let house =
        House::built(registry([(agent("a"), executor.clone())]), |builder| builder.max_parallel_tasks(9));
    let lease = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let mut handles = Vec::new();
    for number in 0..6 {
        handles.push(house.team.spawn(TaskRequest::new(number.to_string())));
        settle().await;
    }
    handles.remove(2).cancel();
    settle().await;
    drop(lease);
    for handle in handles {
        handle.await.unwrap();
    }
    assert_eq!(executor.inputs(), ["0", "1", "3", "4", "5"]);
}
