//! How long a task may take: the earliest of what was said, from the first poll, waiting included.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use convoke_core::{ErrorCode, TaskRequest, TaskStatus};
use convoke_registry::{LeaseRequest, RunOptions};
use convoke_team::{BuildError, TeamRuntime};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, task};

/// A team whose agent stops when asked to.
fn obedient(default: Option<Duration>) -> House {
    let executor = ScriptedExecutor::answering(|_| Step::cancelled());
    let registry = registry([(agent("a"), executor)]);
    House::built(registry, |builder| match default {
        Some(timeout) => builder.default_task_timeout(timeout),
        None => builder,
    })
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_what_was_said_holds_and_the_default_only_where_nothing_was() {
    let none = None::<u64>;
    for (timeout, deadline, default, expected) in [
        (Some(30), none, none, 30),
        (none, Some(30), none, 30),
        (none, none, Some(30), 30),
        (Some(20), Some(30), Some(10), 20),
        (Some(40), Some(30), Some(10), 30),
        (Some(40), none, Some(10), 40),
        (none, Some(40), Some(10), 40),
    ] {
        let house = obedient(default.map(ms));
        let mut request = TaskRequest::new("x");
        request.timeout = timeout.map(ms);
        let mut options = RunOptions::new();
        options.deadline = deadline.map(|millis| Instant::now() + ms(millis));
        let start = Instant::now();
        let report = house.run_with(request, options).await;
        assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
        assert!(!report.detached);
        assert_eq!(start.elapsed(), ms(expected), "of {timeout:?}, {deadline:?}, {default:?}");
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_a_task_takes_as_long_as_it_takes() {
    let step = Step::call(|_, ctx| async move {
        assert_eq!((ctx.deadline(), ctx.remaining_time()), (None, None));
        sleep(Duration::from_secs(1_000_000)).await;
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert!(house.run(TaskRequest::new("x")).await.is_success());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_longer_than_the_clock_can_say_is_none_and_not_the_default() {
    let step = Step::reply("done").after_delay(ms(100));
    let house = House::built(registry([(agent("a"), ScriptedExecutor::new([step]))]), |builder| {
        builder.default_task_timeout(ms(10))
    });
    let report = house.run(TaskRequest::new("x").with_timeout(Duration::MAX)).await;
    assert_end(&report, TaskStatus::Completed, None);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_further_away_than_a_timer_can_say_is_none() {
    // The latest moment that the clock has, found bit by bit.
    let mut farthest = Instant::now();
    let seconds = (0..63).rev().map(|bit| Duration::from_secs(1 << bit));
    for step in seconds.chain((0..30).rev().map(|bit| Duration::from_nanos(1 << bit))) {
        farthest = farthest.checked_add(step).unwrap_or(farthest);
    }
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after_delay(ms(100))]));
    let options = RunOptions::new().with_deadline(farthest);
    let report = house.team.run_with(TaskRequest::new("x"), options).await.unwrap();
    assert_end(&report, TaskStatus::Completed, None);
}

#[tokio::test(start_paused = true)]
async fn waiting_and_execution_share_the_time() {
    let house = obedient(None);
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let start = Instant::now();
    let handle = house.team.spawn(TaskRequest::new("x").with_timeout(ms(20)));
    sleep(ms(15)).await;
    drop(busy);
    let report = handle.await.unwrap();
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!((report.timing.queued, report.timing.executed), (ms(15), ms(5)));
    assert!(report.agent.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_runs_out_of_time_ends_at_once_and_leaves_no_trace() {
    let house = obedient(None);
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let start = Instant::now();
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!((start.elapsed(), report.agent, report.attempt), (ms(20), None, 1));
    assert_eq!((report.timing.queued, report.timing.executed), (ms(20), ms(0)));
    assert_eq!(house.events.names(), ["submitted", "timed_out"]);
    assert_eq!(house.slots().waiting, 0);
    drop(busy);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn time_runs_from_the_first_poll() {
    let house = obedient(None);
    let run = house.team.run(TaskRequest::new("x").with_timeout(ms(20)));
    let parallel = house.team.run_parallel([TaskRequest::new("x").with_timeout(ms(20))]);
    sleep(ms(100)).await;
    let start = Instant::now();
    assert_end(&run.await.unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(20));
    let start = Instant::now();
    assert_end(parallel.await[0].as_ref().unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(20));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_starts_nothing() {
    let executor = ScriptedExecutor::new([]);
    let house = House::of(1, executor.clone());
    let past = RunOptions::new().with_deadline(Instant::now());
    sleep(ms(5)).await;
    let report = house.run_with(task("t"), past.clone()).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(house.events.names(), ["submitted", "timed_out"]);
    let answers = house.team.run_parallel_with([task("u")], past).await;
    assert_end(answers[0].as_ref().unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(answers[0].as_ref().unwrap().attempt, 0);
    executor.assert_done();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_executor_sees_how_much_time_is_left() {
    let step = Step::call(|_, ctx| async move {
        sleep(ms(5)).await;
        assert_eq!(ctx.remaining_time(), Some(ms(15)));
        assert_eq!(ctx.deadline(), Some(Instant::now() + ms(15)));
        ctx.cancellation().cancelled().await;
        assert_eq!(ctx.remaining_time(), Some(ms(0)));
        assert!(ctx.is_cancelled());
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    let report = house.run(TaskRequest::new("x").with_timeout(ms(20))).await;
    assert_end(&report, TaskStatus::Completed, None);
}

#[tokio::test(start_paused = true)]
async fn each_request_of_one_call_has_its_own_time() {
    let house = obedient(None);
    let requests = [50, 20, 30, 10].map(|millis| TaskRequest::new("x").with_timeout(ms(millis)));
    let start = Instant::now();
    let answers = house.team.run_parallel(requests).await;
    for answer in &answers {
        assert_end(answer.as_ref().unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);
    }
    let queued: Vec<_> = answers.iter().map(|answer| answer.as_ref().unwrap().timing.queued).collect();
    assert_eq!(queued, [ms(0), ms(20), ms(30), ms(10)]);
    assert_eq!(start.elapsed(), ms(50));
}

#[test]
fn what_could_never_run_is_refused_at_build() {
    let registry = || registry([(agent("a"), ScriptedExecutor::new([]))]);
    let build = TeamRuntime::builder(registry()).max_parallel_tasks(0).build();
    assert_eq!(build.unwrap_err(), BuildError::NoSlots);
    let build = TeamRuntime::builder(registry()).default_task_timeout(ms(0)).build();
    assert_eq!(build.unwrap_err(), BuildError::ZeroTimeout);
}
