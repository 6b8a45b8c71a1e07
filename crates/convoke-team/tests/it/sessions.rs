//! The sessions of a runtime: named ones live until they are removed, unnamed ones with their work.

use convoke_core::{ErrorCode, TaskRequest, TaskStatus};
use convoke_session::Reconcile;
use convoke_team::{SessionAdminError, TeamEventKind};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

#[tokio::test(start_paused = true)]
async fn a_run_without_a_session_leaves_none_behind() {
    let steps = || {
        [
            Step::reply("done"),
            Step::fail(convoke_core::ExecutorError::new("broken")),
            Step::panic("broken"),
            Step::cancelled(),
        ]
    };
    let house = House::of(8, ScriptedExecutor::new(steps().into_iter().chain(steps()).chain(steps())));
    let request = || TaskRequest::new("x").with_timeout(ms(20));
    for _ in 0..4 {
        house.run(request()).await;
        house.team.spawn(request()).await.unwrap();
    }
    house.team.run_parallel([request(), request(), request(), request()]).await;
    house.run(request().requiring("sing")).await;
    assert_eq!(house.team.stats().sessions, 0);
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_session_stays_until_its_detached_work_has_ended_and_is_decided_about() {
    let house = House::of(1, ScriptedExecutor::new([Step::reply("late").after_delay(ms(500))]));
    let report = house.run(TaskRequest::new("x").with_timeout(ms(20))).await;
    assert!(report.detached);
    let session = house.team.session(&report.session).unwrap();
    assert_eq!((house.team.stats().sessions, session.activity().detached), (1, 1));
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(
        (house.team.stats().sessions, session.activity().detached, session.activity().late),
        (1, 0, 1)
    );
    let accepted = house.team.reconcile(&report.session, &report.task, Reconcile::AcceptLate).await.unwrap();
    assert_eq!((accepted.status, accepted.text()), (TaskStatus::Completed, "late"));
    assert_eq!(house.team.stats().sessions, 0);
    assert!(session.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_named_session_stays_until_it_is_removed() {
    let house = House::of(1, ScriptedExecutor::echo());
    house.run(task("t")).await;
    house.run(task("u")).await;
    assert_eq!(house.team.stats().sessions, 1);
    let session = house.team.remove_session("s").unwrap();
    assert_eq!(session.snapshot().tasks().len(), 2);
    assert!(house.team.session("s").is_none());
    assert!(matches!(house.team.remove_session("s"), Err(SessionAdminError::Unknown { .. })));
    assert_eq!(house.run(task("t")).await.attempt, 1, "a new one of the same name");
}

#[tokio::test(start_paused = true)]
async fn a_session_with_work_that_is_not_over_is_not_removed() {
    let gate = Gate::closed();
    let steps = [Step::reply("done").after(&gate), Step::pause("which?"), Step::reply("late").after(&gate)];
    let house = House::of(3, ScriptedExecutor::new(steps));
    let active = house.team.spawn(task("active"));
    gate.arrived(1).await;
    house.run(task("paused")).await;
    let refused = house.team.remove_session("s").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "session `s` has 1 active, 1 paused, 0 detached and 0 late tasks; remove it once they have ended, or \
         reconcile them"
    );
    house.run(task("detached").with_timeout(ms(20))).await;
    let SessionAdminError::InUse { activity, .. } = house.team.remove_session("s").unwrap_err() else {
        panic!("it is in use");
    };
    assert_eq!((activity.active, activity.paused, activity.detached), (1, 1, 1));
    gate.open();
    active.await.unwrap();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert!(house.team.remove_session("s").is_err(), "one is paused");
    assert_eq!(house.record("s", "paused").status, TaskStatus::InputRequired);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_created_once() {
    let house = House::of(1, ScriptedExecutor::echo());
    let session = house.team.create_session("s").unwrap();
    assert!(matches!(house.team.create_session("s"), Err(SessionAdminError::Exists { .. })));
    assert!(matches!(house.team.create_session(" "), Err(SessionAdminError::Id(_))));
    session.post(convoke_core::Message::user("before")).await.unwrap();
    house.run(task("t")).await;
    assert_eq!(session.snapshot().messages().len(), 3, "the run joins it");
    assert!(matches!(house.team.create_session("s"), Err(SessionAdminError::Exists { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_session_can_be_looked_at_and_joined_as_long_as_work_of_it_is_under_way() {
    let gate = Gate::closed();
    let steps = [Step::reply("first").after(&gate), Step::reply("second"), Step::reply("third").after(&gate)];
    let house = House::of(3, ScriptedExecutor::new(steps));
    let first = house.team.spawn(TaskRequest::new("x"));
    gate.arrived(1).await;
    let id = house.events.events()[0].session.clone();
    let session = house.team.session(&id).unwrap();
    assert_eq!(session.activity().active, 1);
    assert!(matches!(house.team.create_session(id.clone()), Err(SessionAdminError::Exists { .. })));

    let joined = || TaskRequest::new("y").in_session(id.clone());
    assert!(house.run(joined()).await.is_success());
    assert_eq!(session.snapshot().messages().len(), 3, "both inputs and one answer");
    let third = house.team.spawn(joined());
    gate.arrived(2).await;
    gate.let_through(1);
    assert!(first.await.unwrap().is_success());
    assert!(house.team.session(&id).is_some(), "work of it is under way");
    gate.open();
    assert!(third.await.unwrap().is_success());
    assert_eq!(house.team.stats().sessions, 0);
}

/// A house that keeps two sessions at most, whose agent does these steps.
fn house_of_two(steps: impl IntoIterator<Item = Step>) -> House {
    let registry = registry([(agent("a").with_max_concurrency(8), ScriptedExecutor::new(steps))]);
    House::built(registry, |builder| builder.max_parallel_tasks(8).max_sessions(2))
}

/// Checks that no session can be made, neither by name nor by any run.
async fn assert_full(house: &House) {
    let refused = house.team.create_session("one more").unwrap_err();
    assert!(matches!(refused, SessionAdminError::TooMany { limit: 2 }), "{refused}");
    let named = || TaskRequest::new("x").in_session("one more");
    let mut refused = vec![house.run(named()).await, house.run(TaskRequest::new("x")).await];
    refused.push(house.team.spawn(named()).await.unwrap());
    refused.extend(crate::house::reports(house.team.run_parallel([named(), TaskRequest::new("x")]).await));
    for report in refused {
        assert_end(&report, TaskStatus::Blocked, ErrorCode::SessionFull);
        assert_eq!(report.attempt, 0);
        assert!(report.error.unwrap().to_string().contains("raise `max_sessions`"));
    }
    assert_eq!(house.team.stats().sessions, 2);
}

#[tokio::test(start_paused = true)]
async fn no_more_sessions_are_kept_than_may_be_and_what_is_there_can_be_used() {
    let gate = Gate::closed();
    let steps = [Step::reply("first").after(&gate), Step::reply("second"), Step::reply("third")];
    let house = house_of_two(steps);
    house.team.create_session("s").unwrap();
    let first = house.team.spawn(TaskRequest::new("x"));
    gate.arrived(1).await;
    assert_full(&house).await;
    assert!(matches!(house.team.create_session("s"), Err(SessionAdminError::Exists { .. })));
    assert_eq!(house.run(task("t")).await.text(), "second");

    gate.open();
    assert!(first.await.unwrap().is_success());
    house.team.create_session("r").unwrap();
    assert_full(&house).await;
    house.team.remove_session("r").unwrap();
    assert_eq!(house.run(TaskRequest::new("x")).await.text(), "third");
    assert_eq!(house.team.stats().sessions, 1);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_session_counts_as_long_as_work_of_it_is_paused_detached_or_late() {
    let gate = Gate::closed();
    let steps =
        [Step::pause("which?"), Step::reply("late").after(&gate), Step::reply("on"), Step::reply("x")];
    let house = house_of_two(steps);
    let paused = house.run(TaskRequest::new("x")).await;
    let late = house.run(TaskRequest::new("x").with_timeout(ms(10))).await;
    assert!(late.detached);
    assert_full(&house).await;
    gate.open();
    settle().await;
    assert_full(&house).await;
    house.team.reconcile(&late.session, &late.task, Reconcile::Abandon).await.unwrap();
    assert_eq!(house.team.stats().sessions, 1);
    let answer = TaskRequest::new("x").with_id(paused.task.as_str()).in_session(paused.session.clone());
    assert_eq!(house.run(answer).await.text(), "on");
    assert_eq!(house.team.stats().sessions, 0);
    assert_eq!(house.run(TaskRequest::new("x")).await.text(), "x");
}

#[tokio::test(start_paused = true)]
async fn nested_work_needs_no_session_of_its_own_and_independent_work_does() {
    let steps = [
        Step::call(|_, ctx| async move {
            assert!(ctx.team().run(TaskRequest::new("x")).await?.is_success());
            let independent = ctx.team().spawn_independent(TaskRequest::new("x")).await?;
            Ok(independent.code().unwrap().to_string())
        }),
        Step::reply("nested"),
    ];
    let house = house_of_two(steps);
    house.team.create_session("r").unwrap();
    assert_eq!(house.run(task("t")).await.text(), "session_full");
}
