//! What a handle says of sessions and of detached work, for what is built on a team.

use convoke_core::{ErrorCode, SessionId, TaskStatus};
use convoke_registry::TeamHandle;
use convoke_session::{Limit, Reconcile, SessionLimits};
use convoke_testkit::{Gate, ScriptedExecutor, Step};
use futures_util::FutureExt as _;

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_end_of_detached_work_is_heard_when_the_task_may_go_on() {
    let gate = Gate::closed();
    let steps = [Step::reply("late").after(&gate), Step::reply("again")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert!(report.detached);
    let handle = house.team.handle();
    let ended = tokio::spawn(handle.detached_ended(&report));
    settle().await;
    assert!(!ended.is_finished());
    let mut other = report.clone();
    other.attempt = 2;
    assert!(handle.detached_ended(&other).now_or_never().is_some(), "of another attempt nothing is");
    gate.open();
    ended.await.unwrap();
    assert!(handle.detached_ended(&report).now_or_never().is_some());
    house.team.session("s").unwrap().reconcile(&report.task, Reconcile::Retry).await.unwrap();
    assert_end(&house.run(task("t")).await, TaskStatus::Completed, None);
}

#[tokio::test(start_paused = true)]
async fn detached_work_that_is_given_up_for_good_counts_as_ended() {
    let house = House::of(1, ScriptedExecutor::new([Step::never()]));
    let report = house.run(task("t").with_timeout(ms(20))).await;
    let ended = tokio::spawn(house.team.handle().detached_ended(&report));
    settle().await;
    assert!(!ended.is_finished());
    house.team.forfeit(&report.session, &report.task, 1).unwrap();
    ended.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_is_opened_once_with_its_own_limits_and_forgotten_when_nothing_goes_on() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let sessions = house.team.handle().sessions();
    assert!(sessions.get(&session()).is_none());
    let opened = sessions.open(&session(), SessionLimits::default().with_messages(7)).await.unwrap();
    assert_eq!(opened.limits().messages, Limit::Finite(7));
    opened.set("key", 1.into()).await.unwrap();
    let again = sessions.open(&session(), SessionLimits::default()).await.unwrap();
    assert!(again.get("key").is_some() && again.limits().messages == Limit::Finite(7));

    let running = house.team.spawn(task("t"));
    settle().await;
    assert_eq!(sessions.remove(&session()).await.unwrap_err().code(), ErrorCode::InvalidRequest);
    gate.open();
    running.await.unwrap();
    assert_eq!((sessions.remove(&session()).await, sessions.remove(&session()).await), (Ok(true), Ok(false)));
    assert!(house.team.session("s").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_there_for_its_work_stays_once_it_is_opened() {
    let house = House::of(1, ScriptedExecutor::new([Step::pause("which?"), Step::reply("that")]));
    let report = house.run(convoke_core::TaskRequest::new("x")).await;
    let sessions = house.team.handle().sessions();
    sessions.open(&report.session, SessionLimits::default()).await.unwrap();
    assert!(house.run(report.answering("it").unwrap()).await.is_success());
    assert!(sessions.get(&report.session).is_some());
}

#[tokio::test(start_paused = true)]
async fn no_more_sessions_are_opened_than_may_be_kept_and_none_without_a_runtime() {
    let registry = registry([(agent("a"), ScriptedExecutor::echo())]);
    let house = House::built(registry, |builder| builder.max_sessions(Limit::Finite(1)));
    let sessions = house.team.handle().sessions();
    sessions.open(&session(), SessionLimits::default()).await.unwrap();
    let other = SessionId::new("other").unwrap();
    let full = sessions.open(&other, SessionLimits::default()).await.unwrap_err();
    assert_eq!(full.code(), ErrorCode::SessionFull);
    let closed = TeamHandle::closed().sessions();
    let refused = closed.open(&other, SessionLimits::default()).await.unwrap_err();
    assert_eq!((refused.code(), closed.remove(&other).await), (ErrorCode::ShuttingDown, Ok(false)));
}
