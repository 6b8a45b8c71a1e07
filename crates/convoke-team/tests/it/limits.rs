//! The one limit of work at a time, however work was started.

use futures_util::future::join_all;

use convoke_core::{SkillId, TaskRequest};
use convoke_registry::{AgentRegistry, LeaseRequest};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, ms, registry, reports, settle, texts};

fn wide(executor: &ScriptedExecutor) -> AgentRegistry {
    registry([(agent("a").with_max_concurrency(8), executor.clone())])
}

/// A house with a limit of 2 and an agent of 8 places, whose calls take a while.
fn limited() -> (House, ScriptedExecutor) {
    let executor =
        ScriptedExecutor::answering(|request| Step::reply(request.input.clone()).after_delay(ms(10)));
    (House::built(wide(&executor), |builder| builder.max_parallel_tasks(2)), executor)
}

fn numbered(count: usize) -> Vec<TaskRequest> {
    (0..count).map(|number| TaskRequest::new(number.to_string())).collect()
}

#[tokio::test(start_paused = true)]
async fn six_runs_under_a_limit_of_two_never_exceed_it_and_all_complete() {
    let (house, executor) = limited();
    let reports = reports(join_all(numbered(6).into_iter().map(|request| house.team.run(request))).await);
    assert!(reports.iter().all(convoke_core::TaskReport::is_success));
    assert_eq!(executor.peak(), 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn six_spawned_tasks_under_a_limit_of_two_never_exceed_it_and_all_complete() {
    let (house, executor) = limited();
    let handles: Vec<_> = numbered(6).into_iter().map(|request| house.team.spawn(request)).collect();
    let reports = reports(join_all(handles).await);
    assert!(reports.iter().all(convoke_core::TaskReport::is_success));
    assert_eq!(executor.peak(), 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn six_of_one_call_under_a_limit_of_two_never_exceed_it_and_all_complete() {
    let (house, executor) = limited();
    let answers = house.team.run_parallel(numbered(6)).await;
    assert_eq!(texts(&answers), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(executor.peak(), 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_one_for_all_ways_to_start_work() {
    let (house, executor) = limited();
    let handles: Vec<_> = numbered(3).into_iter().map(|request| house.team.spawn(request)).collect();
    let runs = join_all(numbered(3).into_iter().map(|request| house.team.run(request)));
    let parallel = house.team.run_parallel(numbered(3));
    let watch = async {
        for _ in 0..100 {
            house.assert_sound();
            tokio::time::sleep(ms(1)).await;
        }
    };
    let (handles, runs, parallel, ()) = tokio::join!(join_all(handles), runs, parallel, watch);
    for answers in [handles, runs, parallel] {
        assert_eq!(texts(&answers), ["0", "1", "2"]);
    }
    assert_eq!(executor.peak(), 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn work_that_follows_finds_the_slot_free() {
    let executor = ScriptedExecutor::echo();
    let house = House::built(wide(&executor), |builder| builder.max_parallel_tasks(1));
    for _ in 0..50 {
        house.run(TaskRequest::new("x")).await;
        assert_eq!(house.slots().taken, 0, "capacity is free before the report is given");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_slot_holds_no_place_and_who_waits_for_a_place_holds_no_slot() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated));
    let house = House::built(registry([(agent("a"), executor.clone()), (agent("b"), executor)]), |builder| {
        builder.max_parallel_tasks(2)
    });
    let request = |agent: &str| TaskRequest::new("x").preferring(agent);
    let a = [house.team.spawn(request("a")), house.team.spawn(request("a"))];
    gate.arrived(1).await;
    settle().await;
    assert_eq!((house.slots().taken, house.slots().waiting), (1, 1));
    let b = house.team.spawn(request("b"));
    gate.arrived(2).await;
    assert_eq!((house.slots().taken, house.slots().waiting), (2, 1));
    gate.open();
    for handle in a.into_iter().chain([b]) {
        assert!(handle.await.unwrap().is_success());
    }
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn requests_for_a_busy_agent_hold_up_none_for_an_idle_one() {
    let executor = ScriptedExecutor::echo();
    let house = House::built(
        registry([
            (agent("a").with_skill("a"), executor.clone()),
            (agent("b").with_skill("b").with_max_concurrency(100), executor.clone()),
        ]),
        |builder| builder.max_parallel_tasks(4),
    );
    let a = [SkillId::new("a").unwrap()];
    let busy = house.registry.acquire(LeaseRequest::new(&a)).await.unwrap();
    let requests = (0..104)
        .map(|number| TaskRequest::new(number.to_string()).requiring(if number < 4 { "a" } else { "b" }));
    let parallel = tokio::spawn(house.team.run_parallel(requests));
    executor.called(100).await;
    settle().await;
    assert_eq!(executor.calls(), 100);
    assert_eq!((house.slots().taken, house.slots().waiting), (0, 4));
    drop(busy);
    let expected: Vec<_> = (0..104).map(|number| number.to_string()).collect();
    assert_eq!(texts(&parallel.await.unwrap()), expected);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn two_runtimes_share_the_agents_and_not_the_limit() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated));
    let registry = registry([(agent("a").with_max_concurrency(3), executor.clone())]);
    let one = House::built(registry.clone(), |builder| builder.max_parallel_tasks(2));
    let two = House::built(registry, |builder| builder.max_parallel_tasks(2));
    let first = tokio::spawn(one.team.run_parallel(numbered(3)));
    gate.arrived(2).await;
    let second = tokio::spawn(two.team.run_parallel(numbered(3)));
    gate.arrived(3).await;
    settle().await;
    assert_eq!((one.slots().taken, two.slots().taken, one.load("a").0), (2, 1, 3));
    gate.open();
    assert_eq!(first.await.unwrap().len() + second.await.unwrap().len(), 6);
    one.assert_rest();
    two.assert_rest();
}
