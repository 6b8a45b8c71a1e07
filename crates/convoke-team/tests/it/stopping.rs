//! Stops: before the work, between grant and start, and during the work within the grace.

use tokio::time::{Instant, sleep};

use convoke_core::{ErrorCode, ExecutorError, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::{CancellationToken, ExecutorCapabilities, LeaseRequest, RunOptions};
use convoke_team::{TeamEvent, TeamEventKind, TeamRuntime};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

fn cancelled_by(token: &CancellationToken) -> RunOptions {
    RunOptions::new().with_cancellation(token.clone())
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_signalled_already_starts_nothing() {
    let executor = ScriptedExecutor::new([]);
    let house = House::of(1, executor.clone());
    let token = CancellationToken::new();
    token.cancel();
    let report = house.run_with(task("t"), cancelled_by(&token)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!((report.agent, report.attempt, report.detached), (None, 1, false));
    assert_eq!(report.error.unwrap().message(), "task was cancelled before it was dispatched");
    assert_eq!(house.events.names(), ["submitted", "cancelled"]);
    let answers = house.team.run_parallel_with([task("u"), task("v")], cancelled_by(&token)).await;
    for answer in &answers {
        assert_end(answer.as_ref().unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
        assert_eq!(answer.as_ref().unwrap().attempt, 0);
    }
    executor.assert_done();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_ends_at_once_and_leaves_no_trace() {
    let house = House::of(1, ScriptedExecutor::echo());
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let handle = house.team.spawn(task("t"));
    settle().await;
    assert_eq!(house.slots().waiting, 1);
    handle.cancel();
    let report = handle.await.unwrap();
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(house.slots().waiting, 0);
    drop(busy);
    assert_eq!(house.run(task("t")).await.attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stop_between_the_grant_and_the_start_gives_the_place_back_at_once() {
    let executor = ScriptedExecutor::new([]);
    let house = House::of(1, executor.clone());
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let handle = house.team.spawn(task("t"));
    settle().await;
    // Granted here, and the task has not been polled since.
    drop(busy);
    assert_eq!(house.load("a").0, 1);
    handle.cancel();
    assert_end(&handle.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(house.events.names(), ["submitted", "cancelled"]);
    executor.assert_done();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_stop_after_the_grant_of_one_among_many_gives_the_place_back_at_once() {
    let executor = ScriptedExecutor::new([]);
    let token = CancellationToken::new();
    // With the lease in its hand the task is admitted, and the observer hears that first.
    let stop = token.clone();
    let on_event = move |event: &TeamEvent| {
        if event.kind == TeamEventKind::Submitted {
            stop.cancel();
        }
    };
    let registry = registry([(agent("a"), executor.clone())]);
    let team = TeamRuntime::builder(registry.clone()).on_event(on_event).build().unwrap();
    let answers = team.run_parallel_with([task("t")], cancelled_by(&token)).await;
    assert_end(answers[0].as_ref().unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(registry.get("a").unwrap().active, 0);
    executor.assert_done();
}

/// How a task ends whose executor says `end` one millisecond before the grace is over.
async fn ends_after_a_stop(end: Step, by_deadline: bool) -> (TaskStatus, Option<ErrorCode>) {
    let house = House::of(1, ScriptedExecutor::new([end.once_cancelled().after_delay(ms(49))]));
    let mut request = task("t");
    request.timeout = by_deadline.then_some(ms(20));
    let handle = house.team.spawn(request);
    sleep(ms(20)).await;
    if !by_deadline {
        handle.cancel();
    }
    let report = handle.await.unwrap();
    assert!(!report.detached, "within the grace");
    assert_eq!(report.timing.executed, ms(69));
    house.assert_rest();
    (report.status, report.code())
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_its_cause_says_what_stopped_means_and_any_other_word_is_kept() {
    use ErrorCode as Code;
    for (by_deadline, stopped) in [
        (true, (TaskStatus::TimedOut, Some(Code::TimedOut))),
        (false, (TaskStatus::Cancelled, Some(Code::Cancelled))),
    ] {
        let end = async |step| ends_after_a_stop(step, by_deadline).await;
        assert_eq!(end(Step::reply(TaskOutcome::cancelled())).await, stopped);
        assert_eq!(end(Step::fail(ExecutorError::cancelled())).await, stopped);
        assert_eq!(end(Step::reply("done")).await, (TaskStatus::Completed, None));
        assert_eq!(end(Step::pause("which?")).await, (TaskStatus::InputRequired, None));
        let failed = (TaskStatus::Failed, Some(Code::ExecutionFailed));
        assert_eq!(end(Step::fail(ExecutorError::new("broken"))).await, failed);
        assert_eq!(end(Step::panic("broken")).await, (TaskStatus::Failed, Some(Code::ExecutorPanicked)));
        let blocked = (TaskStatus::Blocked, Some(Code::AgentBlocked));
        assert_eq!(end(Step::reply(TaskOutcome::blocked("no key"))).await, blocked);
        let own_clock = Step::reply(TaskOutcome::TimedOut { output: "part".into() });
        assert_eq!(end(own_clock).await, (TaskStatus::TimedOut, Some(Code::TimedOut)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_stopped_agent_had_so_far_is_in_the_report_alone() {
    let step = Step::reply(TaskOutcome::Cancelled { output: "half".into() }).once_cancelled();
    let house = House::of(1, ScriptedExecutor::new([step]));
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert_eq!((report.status, report.text()), (TaskStatus::TimedOut, "half"));
    assert_eq!(house.team.session("s").unwrap().snapshot().messages().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_cause_changes_nothing() {
    let step = || Step::cancelled().after_delay(ms(40));
    let house = House::of(1, ScriptedExecutor::new([step(), step()]));
    let handle = house.team.spawn(task("t").with_timeout(ms(20)));
    sleep(ms(30)).await;
    handle.cancel();
    assert_end(&handle.await.unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);

    let handle = house.team.spawn(task("u").with_timeout(ms(20)));
    sleep(ms(10)).await;
    handle.cancel();
    assert_end(&handle.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_grace_runs_from_the_stop_and_is_the_same_for_every_executor() {
    for capabilities in
        [ExecutorCapabilities::default(), ExecutorCapabilities::default().with_cooperative_cancellation()]
    {
        let executor = ScriptedExecutor::new([Step::never()]).with_capabilities(capabilities);
        let house = House::built(registry([(agent("a"), executor)]), |builder| builder.grace(ms(70)));
        let start = Instant::now();
        let handle = house.team.spawn(task("t"));
        sleep(ms(10)).await;
        handle.cancel();
        let report = handle.await.unwrap();
        assert_eq!(start.elapsed(), ms(80));
        assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
        assert!(report.detached);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_stop_does_not_prolong_the_grace() {
    let executor = ScriptedExecutor::new([Step::never()]);
    let house = House::built(registry([(agent("a"), executor)]), |builder| builder.grace(ms(70)));
    let (start, token) = (Instant::now(), CancellationToken::new());
    let handle = house
        .team
        .spawn_with(task("t").with_timeout(ms(10)), RunOptions::new().with_cancellation(token.clone()));
    sleep(ms(30)).await;
    token.cancel();
    sleep(ms(20)).await;
    handle.cancel();
    let report = handle.await.unwrap();
    assert_eq!(start.elapsed(), ms(80));
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(report.detached);
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_the_answer_comes_with_the_stop() {
    let executor = ScriptedExecutor::new([Step::never()]);
    let house = House::built(registry([(agent("a"), executor)]), |builder| builder.grace(ms(0)));
    let start = Instant::now();
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(report.detached);
    assert_eq!(start.elapsed(), ms(20));
}

#[tokio::test(start_paused = true)]
async fn completion_while_a_stop_is_under_way_is_a_completion() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let handle = house.team.spawn(task("t"));
    gate.arrived(1).await;
    handle.cancel();
    settle().await;
    assert_eq!(handle.status(), TaskStatus::Working);
    gate.open();
    let report = handle.await.unwrap();
    assert_end(&report, TaskStatus::Completed, None);
    sleep(ms(1_000)).await;
    assert_eq!(house.events.names(), ["submitted", "selected", "started", "completed"]);
    assert_eq!(house.record("s", "t").status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_stop_and_an_end_at_the_same_moment_is_an_end() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let handle = house.team.spawn(task("t"));
    gate.arrived(1).await;
    gate.open();
    handle.cancel();
    assert_end(&handle.await.unwrap(), TaskStatus::Completed, None);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_runs_on_after_a_stop_keeps_its_place_and_the_next_task_waits_for_it() {
    let gate = Gate::closed();
    let steps = [Step::fail(ExecutorError::cancelled()).after(&gate), Step::reply("next")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    let first = house.team.spawn(task("t"));
    gate.arrived(1).await;
    first.cancel();
    let second = house.team.spawn(task("u"));
    assert!(first.await.unwrap().detached);
    sleep(ms(1_000)).await;
    assert_eq!((house.load("a"), second.status()), ((1, 1), TaskStatus::Submitted));
    gate.open();
    assert_eq!(second.await.unwrap().text(), "next");
    assert_eq!(house.events.names_of("u"), ["submitted", "selected", "started", "completed"]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_stops_unasked_is_cancelled_all_the_same() {
    let steps = [Step::reply(TaskOutcome::cancelled()), Step::fail(ExecutorError::cancelled())];
    let house = House::of(1, ScriptedExecutor::new(steps));
    for _ in 0..2 {
        let report = house.run(TaskRequest::new("x")).await;
        assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_stamped_before_the_deadline_counts_however_late_it_is_seen() {
    use std::{
        pin::pin,
        sync::Arc,
        task::{Context, Wake},
    };

    /// Lets five milliseconds pass when it is woken: between the end of the work and the moment it is told.
    struct Late;
    impl Wake for Late {
        fn wake(self: Arc<Self>) {
            let mut advance = pin!(tokio::time::advance(ms(5)));
            let _ = advance.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
        }
    }

    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after_delay(ms(19))]));
    let start = Instant::now();
    let handle = house.team.spawn(task("t").with_timeout(ms(20)));
    settle().await;
    // The place of the task goes to this wait as soon as the work has ended, before anybody is told of the end.
    let mut next = Box::pin(house.registry.acquire(LeaseRequest::new(&[])));
    assert!(next.as_mut().poll(&mut Context::from_waker(&Arc::new(Late).into())).is_pending());
    let report = handle.await.unwrap();
    assert_eq!(start.elapsed(), ms(24), "the deadline has passed");
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!(report.timing.executed, ms(19));
}
