//! The end of a team runtime, and of the tokio runtime under it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use convoke_core::{ErrorCode, TaskRequest, TaskStatus};
use convoke_registry::{LeaseRequest, RunOptions, TeamError};
use convoke_team::{ObserverError, TeamEvent, TeamEventKind, TeamObserver, TeamRuntime};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_clone_cancels_all_and_nothing_leaks() {
    let gate = Gate::closed();
    let steps = [Step::cancelled(), Step::cancelled(), Step::reply("late").after(&gate)];
    let House { team, registry, events } = House::of(3, ScriptedExecutor::new(steps));
    let session = team.create_session("s").unwrap();
    let busy = team.clone();
    let run = tokio::spawn(team.run(task("run")));
    settle().await;
    let spawned = team.spawn(task("spawned"));
    settle().await;
    let stubborn = team.spawn(task("stubborn"));
    gate.arrived(1).await;
    let waiting = team.spawn(task("waiting"));
    let many = tokio::spawn(team.run_parallel([task("one"), task("two")]));
    settle().await;
    drop(team);
    settle().await;
    assert_eq!(spawned.status(), TaskStatus::Working, "a clone is left");

    drop(busy);
    assert_end(&run.await.unwrap().unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_end(&spawned.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_end(&waiting.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    for answer in many.await.unwrap() {
        assert_end(&answer.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    }
    assert!(stubborn.await.unwrap().detached);
    assert_eq!(registry.get("a").unwrap().active, 1);
    gate.open();
    events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(registry.get("a").unwrap().active, 0);
    assert_eq!(registry.get("a").unwrap().waiting, 0);
    assert_eq!((session.activity().active, session.activity().detached), (0, 0));
    for (id, record) in session.snapshot().tasks() {
        assert_eq!((record.status, record.detached), (TaskStatus::Cancelled, false), "{id}");
    }
    assert_eq!(session.snapshot().tasks().len(), 4, "those that were admitted");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_first_polled_after_the_end_is_refused() {
    let executor = ScriptedExecutor::new([]);
    let House { team, registry, events } = House::of(1, executor.clone());
    let (run, many) = (team.run(task("t")), team.run_parallel([task("u"), task("v")]));
    drop(team);
    let report = run.await.unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::ShuttingDown);
    assert_eq!(report.attempt, 0);
    for answer in many.await {
        assert_end(&answer.unwrap(), TaskStatus::Blocked, ErrorCode::ShuttingDown);
    }
    assert_eq!(events.names(), ["blocked", "blocked", "blocked"]);
    assert_eq!(registry.get("a").unwrap().active, 0);
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_gone_frees_its_limit_for_others() {
    let executor = ScriptedExecutor::echo();
    let House { team, registry, .. } = House::of(1, executor);
    let lease = registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let handle = team.spawn(task("t"));
    settle().await;
    drop(team);
    assert_end(&handle.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    drop(lease);
    let other = House::new(registry);
    assert!(other.run(task("t")).await.is_success());
}

#[test]
fn outside_a_tokio_runtime_every_call_says_so() {
    let house = House::of(1, ScriptedExecutor::new([]));
    let wait = |future: std::pin::Pin<Box<dyn Future<Output = Result<_, TeamError>>>>| {
        futures_util::FutureExt::now_or_never(future).unwrap()
    };
    assert!(matches!(wait(Box::pin(house.team.run(task("t")))), Err(TeamError::NoTokio)));
    assert!(matches!(wait(Box::pin(house.team.spawn(task("t")))), Err(TeamError::NoTokio)));
    let many =
        futures_util::FutureExt::now_or_never(house.team.run_parallel([task("t"), task("u")])).unwrap();
    assert_eq!(many.len(), 2);
    assert!(many.iter().all(|answer| matches!(answer, Err(TeamError::NoTokio))));
    assert!(house.events.events().is_empty());
    house.assert_rest();
}

fn paused_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn work_is_lost_with_its_tokio_runtime_and_the_team_goes_on_in_another() {
    let gate = Gate::closed();
    let steps = [Step::never(), Step::reply("done")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    let first = paused_runtime();
    let (handle, waiting) = first.block_on(async {
        let handle = house.team.spawn(task("t"));
        settle().await;
        let waiting = house.team.spawn(task("u"));
        settle().await;
        (handle, waiting)
    });
    drop((first, gate));
    house.assert_rest();
    for id in ["t", "u"] {
        let record = house.record("s", id);
        assert_eq!((record.status, record.detached), (TaskStatus::Failed, false), "never stuck");
    }
    assert_eq!(house.events.names_of("t"), ["submitted", "selected", "started", "failed"]);
    assert_eq!(house.events.names_of("u"), ["submitted", "failed"]);
    paused_runtime().block_on(async {
        assert!(matches!(handle.await, Err(TeamError::Lost { .. })));
        assert!(matches!(waiting.await, Err(TeamError::Lost { .. })));
        assert_eq!(house.run(task("t")).await.attempt, 2);
    });
}

#[test]
fn detached_work_ends_with_its_tokio_runtime() {
    let house = House::of(1, ScriptedExecutor::new([Step::never(), Step::never(), Step::reply("done")]));
    let first = paused_runtime();
    first.block_on(async {
        let handle = house.team.spawn(task("t"));
        settle().await;
        handle.cancel();
        assert!(handle.await.unwrap().detached);
        assert_eq!((house.team.stats().detached, house.load("a")), (1, (1, 1)));
    });
    drop(first);
    house.assert_rest();
    assert!(!house.record("s", "t").detached, "nothing of it is alive");
    assert_eq!(house.events.count(TeamEventKind::DetachedEnded), 1);

    let second = paused_runtime();
    second.block_on(async {
        assert!(house.run(TaskRequest::new("x").with_timeout(ms(20))).await.detached);
        assert_eq!(house.team.stats().sessions, 2);
    });
    drop(second);
    assert_eq!(house.team.stats().sessions, 1, "an unnamed session ends with its last work");
    paused_runtime().block_on(async {
        assert_eq!(house.run(task("t")).await.attempt, 2);
        sleep(ms(1)).await;
    });
}

#[test]
fn an_unnamed_session_ends_with_the_tokio_runtime_of_its_work() {
    let house = House::of(1, ScriptedExecutor::new([Step::never()]));
    let runtime = paused_runtime();
    runtime.block_on(async {
        let _running = house.team.spawn(TaskRequest::new("x"));
        let _waiting = house.team.spawn(TaskRequest::new("x"));
        let many = tokio::spawn(house.team.run_parallel([TaskRequest::new("x"), TaskRequest::new("x")]));
        settle().await;
        drop(many);
    });
    drop(runtime);
    assert_eq!(house.team.stats().sessions, 0);
    house.assert_rest();
}

#[test]
fn a_tokio_runtime_without_a_timer_loses_what_needs_one_and_nothing_is_stuck() {
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done")]));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let lost = house.team.run(task("t").with_timeout(ms(20))).await.unwrap_err();
        assert!(matches!(lost, TeamError::Lost { .. }));
        settle().await;
        assert_eq!(house.record("s", "t").status, TaskStatus::Failed);
        house.assert_rest();
        assert_eq!(house.run(task("t")).await.attempt, 2, "without a timeout none is needed");
    });
}

/// Panics when it is dropped.
struct Cursed;

impl TeamObserver for Cursed {
    fn observe(&self, _: &TeamEvent) -> Result<(), ObserverError> {
        Ok(())
    }
}

impl Drop for Cursed {
    fn drop(&mut self) {
        panic!("in the destructor of the observer");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_whose_destructor_panics_costs_no_answer() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated));
    let registry = registry([(agent("a").with_max_concurrency(4), executor)]);
    let team = TeamRuntime::builder(registry.clone()).observer(Cursed).build().unwrap();
    let (run, spawned) = (tokio::spawn(team.run(task("t"))), team.spawn(task("u")));
    let many = tokio::spawn(team.run_parallel([task("v")]));
    gate.arrived(3).await;
    gate.open();
    // The tasks hold the last copies of what the runtime is made of.
    drop(team);
    assert!(run.await.unwrap().unwrap().is_success());
    assert!(spawned.await.unwrap().is_success());
    assert!(many.await.unwrap().pop().unwrap().unwrap().is_success());
    assert_eq!(registry.get("a").unwrap().active, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_waits_to_be_read_keeps_no_copy_of_the_runtime() {
    let gate = Gate::closed();
    let registry = registry([(agent("a"), ScriptedExecutor::new([Step::reply("done").after(&gate)]))]);
    let team = TeamRuntime::builder(registry).observer(Cursed).build().unwrap();
    let mut run = Box::pin(team.run(task("t")));
    assert!(futures_util::poll!(&mut run).is_pending());
    gate.arrived(1).await;
    gate.open();
    settle().await;
    let last = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(team)));
    assert!(last.is_err(), "the host's is the last copy");
    assert!(run.await.unwrap().is_success());
}

/// The give-up of a driver and the end of its work cross, in any order: a real runtime ends while hundreds of drivers are
/// giving up.
#[test]
fn nothing_stays_detached_where_the_tokio_runtime_ends_around_a_give_up() {
    for round in 0..80 {
        let tokio =
            tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
        let deaf = ScriptedExecutor::answering(|_| Step::never());
        let registry = registry([(agent("a").with_max_concurrency(400), deaf)]);
        let (told, ends) = std::sync::mpsc::channel();
        let team = TeamRuntime::builder(registry.clone())
            .max_parallel_tasks(400)
            .grace(Duration::ZERO)
            .on_event(move |event| {
                if event.kind == TeamEventKind::TimedOut {
                    told.send(()).ok();
                }
            });
        let team = tokio.block_on(async {
            let team = team.build().unwrap();
            let options = RunOptions::new().with_deadline(Instant::now() + ms(3));
            for _ in 0..400 {
                drop(team.spawn_with(TaskRequest::new("x").in_session("s"), options.clone()));
            }
            team
        });
        // Not at the first, so that more of them are in the middle of it.
        for _ in 0..=round {
            ends.recv().unwrap();
        }
        drop(tokio);
        let activity = team.session("s").unwrap().activity();
        assert_eq!((activity.active, activity.detached), (0, 0));
        assert_eq!((team.stats().detached, team.stats().slots.taken), (0, 0));
        assert!(registry.list().iter().all(|agent| (agent.active, agent.detached) == (0, 0)));
    }
}
