//! What is admitted, what is refused, and what a refusal touches: nothing.

use convoke_core::{ErrorCode, ExecutorError, Message, ResumeToken, TaskOutcome, TaskRequest, TaskStatus};
use convoke_session::SessionLimits;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, task};

#[tokio::test(start_paused = true)]
async fn a_working_id_is_refused_and_goes_on_working() {
    let gate = Gate::closed();
    let house = House::of(2, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let first = house.team.spawn(task("t"));
    gate.arrived(1).await;
    let second = house.run(task("t")).await;
    assert_end(&second, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(second.attempt, 0);
    assert!(second.error.unwrap().message().contains("working"));
    assert_eq!(house.record("s", "t").status, TaskStatus::Working);
    assert_eq!(house.events.names(), ["submitted", "selected", "started", "blocked"]);
    gate.open();
    assert!(first.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn an_id_that_waits_for_an_agent_is_refused_and_goes_on_waiting() {
    let house = House::of(1, ScriptedExecutor::echo());
    let place = house.registry.acquire(convoke_registry::LeaseRequest::new(&[])).await.unwrap();
    let first = house.team.spawn(task("t"));
    crate::house::settle().await;
    let second = house.run(task("t")).await;
    assert_end(&second, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert!(second.error.unwrap().message().contains("submitted"));
    drop(place);
    assert_eq!(first.await.unwrap().attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_completed_id_is_refused_and_stays_completed() {
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done")]));
    house.run(task("t")).await;
    let again = house.run(task("t")).await;
    assert_end(&again, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert!(again.error.unwrap().message().contains("completed"));
    let record = house.record("s", "t");
    assert_eq!((record.status, record.attempt), (TaskStatus::Completed, 1));
    assert_eq!(record.report.unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn what_failed_was_blocked_or_cancelled_may_be_tried_again() {
    let steps = [
        Step::fail(ExecutorError::new("broken")),
        Step::panic("broken"),
        Step::reply(TaskOutcome::blocked("no key")),
        Step::reply(TaskOutcome::cancelled()),
        Step::reply("at last"),
    ];
    let house = House::of(1, ScriptedExecutor::new(steps));
    for (attempt, status) in [
        TaskStatus::Failed,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Cancelled,
        TaskStatus::Completed,
    ]
    .into_iter()
    .enumerate()
    {
        let report = house.run(task("t")).await;
        assert_eq!((report.status, report.attempt as usize), (status, attempt + 1));
    }
    assert_eq!(house.record("s", "t").attempt, 5);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_id_that_timed_out_is_closed_also_once_its_work_has_ended() {
    let gate = Gate::closed();
    let house = House::of(2, ScriptedExecutor::new([Step::reply("late").after(&gate)]));
    let first = house.run(task("t").with_timeout(ms(20))).await;
    assert_end(&first, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(first.detached);
    let during = house.run(task("t")).await;
    assert_end(&during, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    gate.open();
    house.events.seen(convoke_team::TeamEventKind::DetachedEnded, 1).await;
    let after = house.run(task("t")).await;
    assert_end(&after, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert!(after.error.unwrap().message().contains("timed_out"));
    assert_eq!((after.attempt, house.record("s", "t").attempt), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_id_is_free_again_once_its_work_has_ended() {
    let gate = Gate::closed();
    let house = House::of(2, ScriptedExecutor::new([Step::reply("late").after(&gate), Step::reply("done")]));
    let handle = house.team.spawn(task("t"));
    gate.arrived(1).await;
    handle.cancel();
    let first = handle.await.unwrap();
    assert_end(&first, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert!(first.detached);

    let during = house.run(task("t")).await;
    assert_end(&during, TaskStatus::Blocked, ErrorCode::StillDetached);
    assert_eq!(during.attempt, 0);
    assert_eq!(house.record("s", "t").status, TaskStatus::Cancelled);

    gate.open();
    house.events.seen(convoke_team::TeamEventKind::DetachedEnded, 1).await;
    let second = house.run(task("t")).await;
    assert!(second.is_success());
    assert_eq!((second.attempt, second.text()), (2, "done"));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_empty_request_is_refused_and_nothing_is_touched() {
    let executor = ScriptedExecutor::new([]);
    let house = House::of(1, executor.clone());
    let report = house.run(TaskRequest::new("").with_id("t").in_session("s")).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!((report.task.as_str(), report.session.as_str(), report.attempt), ("t", "s", 0));
    assert_eq!(house.events.names(), ["blocked"]);
    assert_eq!(house.team.stats().sessions, 0);
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_request_needs_only_one_thing_to_work_on() {
    let house = House::of(1, ScriptedExecutor::echo());
    assert!(house.run(TaskRequest::new("").with_json(&1)).await.is_success());
    assert!(house.run(TaskRequest::new("").with_message(Message::user("hi"))).await.is_success());
}

#[tokio::test(start_paused = true)]
async fn an_error_that_the_request_kept_is_reported_under_a_generated_id() {
    let house = House::of(1, ScriptedExecutor::new([]));
    for request in [
        TaskRequest::new("x").with_id("two\nlines"),
        TaskRequest::new("x").in_session(""),
        TaskRequest::new("x").requiring(" "),
        TaskRequest::new("x").preferring("\u{7}"),
        TaskRequest::new("x").with_timeout(ms(0)),
        TaskRequest::new("x").with_json(&std::collections::HashMap::from([((1, 2), 3)])),
    ] {
        let report = house.run(request.clone()).await;
        assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!(report.task.as_str().len(), 36, "a UUID: {}", report.task);
        assert_eq!((report.attempt, house.team.stats().sessions), (0, 0));
        let answers = house.team.run_parallel([request.clone()]).await;
        assert_end(answers[0].as_ref().unwrap(), TaskStatus::Blocked, ErrorCode::InvalidRequest);
        let report = house.team.spawn(request).await.unwrap();
        assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    }
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_refused_admission_makes_no_session() {
    let house = House::of(1, ScriptedExecutor::new([]));
    let answer = task("t").resuming(ResumeToken::new(1, "x"), "yes");
    let report = house.run(answer.clone()).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.team.stats().sessions, 0);
    assert!(house.team.session("s").is_none());
    let answers = house.team.run_parallel([answer]).await;
    assert_end(answers[0].as_ref().unwrap(), TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.team.stats().sessions, 0);

    let large = TaskRequest::new("x".repeat(2 << 20)).in_session("s");
    assert_end(&house.run(large).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.team.stats().sessions, 0);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_session_without_room_for_the_input_refuses_it() {
    let registry = registry([(agent("a"), ScriptedExecutor::new([]))]);
    let limits = SessionLimits::default().with_messages(1);
    let house = House::built(registry, |builder| builder.session_limits(limits));
    let session = house.team.create_session("s").unwrap();
    session.post(Message::user("x")).await.unwrap();
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::SessionFull);
    assert_eq!((report.attempt, session.snapshot().tasks().len()), (0, 0));
    assert_eq!(house.events.names(), ["blocked"]);
    // The same holds for the sessions that runs make.
    let two = || TaskRequest::new("x").with_message(Message::user("y"));
    assert_end(&house.run(two()).await, TaskStatus::Blocked, ErrorCode::SessionFull);
    assert_end(&house.run(two().in_session("new")).await, TaskStatus::Blocked, ErrorCode::SessionFull);
    assert_eq!(house.team.stats().sessions, 1);
}

#[tokio::test(start_paused = true)]
async fn one_id_in_two_sessions_is_two_tasks() {
    let house = House::of(1, ScriptedExecutor::echo());
    assert!(house.run(TaskRequest::new("x").with_id("t").in_session("one")).await.is_success());
    assert!(house.run(TaskRequest::new("x").with_id("t").in_session("two")).await.is_success());
    assert!(house.run(TaskRequest::new("x").with_id("t")).await.is_success());
    assert_eq!(house.team.stats().sessions, 2);
}

#[tokio::test(start_paused = true)]
async fn generated_ids_come_from_the_generator_of_the_runtime() {
    let ids = async || {
        let registry = registry([(agent("a"), ScriptedExecutor::echo())]);
        let house = House::built(registry, |builder| builder.ids(convoke_core::IdGenerator::seeded(7)));
        let report = house.run(TaskRequest::new("x")).await;
        // The first half is the time of day.
        (report.task.as_str()[19..].to_owned(), report.session.as_str()[19..].to_owned())
    };
    let (first, second) = (ids().await, ids().await);
    assert_eq!(first, second);
    assert_ne!(first.0, first.1);
}
