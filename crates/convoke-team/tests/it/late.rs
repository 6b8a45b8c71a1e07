//! Tasks that are over: asked for again, or decided about after their callers had given up.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::sleep;

use convoke_core::{
    Artifact, ErrorCode, ExecutorError, SessionId, TaskId, TaskOutput, TaskReport, TaskRequest, TaskStatus,
};
use convoke_registry::RunOptions;
use convoke_session::{IfCompleted, Reconcile, ReconcileError};
use convoke_team::{SessionAdminError, TeamEventKind};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, reports, settle, task};

fn again(if_completed: IfCompleted) -> RunOptions {
    RunOptions::new().with_if_completed(if_completed)
}

fn late(decision: Reconcile) -> RunOptions {
    RunOptions::new().with_late(decision)
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn id(task: &str) -> TaskId {
    TaskId::new(task).unwrap()
}

/// A house whose task `t` timed out, and then ended as `step` says.
async fn house_with(step: Step, then: impl IntoIterator<Item = Step>) -> House {
    let steps = std::iter::once(step.after_delay(ms(100))).chain(then);
    let house = House::of(2, ScriptedExecutor::new(steps));
    assert!(house.run(task("t").with_timeout(ms(10))).await.detached);
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    settle().await;
    house
}

fn late_report(house: &House) -> Option<Arc<TaskReport>> {
    house.record("s", "t").late
}

#[tokio::test(start_paused = true)]
async fn a_completed_task_is_refused_answered_or_done_again_as_the_caller_says() {
    let executor = ScriptedExecutor::new([Step::reply("first"), Step::reply("second")]);
    let house = House::of(1, executor.clone());
    let first = house.run(task("t")).await;

    for options in [RunOptions::new(), again(IfCompleted::Refuse)] {
        let refused = house.run_with(task("t"), options).await;
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!(refused.attempt, 0);
    }
    let before = house.events.names().len();
    let returned = house.run_with(task("t"), again(IfCompleted::Return)).await;
    assert_eq!(returned, first);
    assert_eq!((executor.calls(), house.events.names().len()), (1, before), "nothing happened");

    let second = house.run_with(task("t"), again(IfCompleted::Again)).await;
    assert_eq!((second.text(), second.attempt, executor.calls()), ("second", 2, 2));
    let returned = house.run_with(task("t"), again(IfCompleted::Return)).await;
    assert_eq!(returned, second, "the latest");
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn what_another_request_completed_answers_nothing() {
    let house = House::of(1, ScriptedExecutor::echo());
    house.run(task("t")).await;
    let others = [
        TaskRequest::new("other").with_id("t").in_session("s"),
        task("t").requiring("sing"),
        task("t").preferring("a"),
    ];
    for other in others {
        let refused = house.run_with(other, again(IfCompleted::Return)).await;
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert!(refused.error.unwrap().to_string().contains("request differs"));
    }
    assert_eq!(house.record("s", "t").attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn one_of_many_equal_requests_works_and_the_others_are_answered() {
    let executor = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(10)));
    let house = House::of(1, executor.clone());
    let answers = house.team.run_parallel_with(vec![task("t"); 5], again(IfCompleted::Return)).await;
    let reports = reports(answers);
    assert!(reports.iter().all(|report| *report == reports[0] && report.is_success()), "{reports:?}");
    assert_eq!(executor.calls(), 1);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_not_completed_takes_no_notice_of_the_word_about_completed_ones() {
    for if_completed in [IfCompleted::Return, IfCompleted::Again] {
        let steps = [Step::fail(ExecutorError::new("broken")), Step::reply("done")];
        let house = House::of(1, ScriptedExecutor::new(steps));
        assert_eq!(house.run_with(task("t"), again(if_completed)).await.status, TaskStatus::Failed);
        assert_eq!(house.run_with(task("t"), again(if_completed)).await.attempt, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_timed_out_is_run_again_on_an_explicit_word_alone() {
    for kept in [Step::reply("late"), Step::cancelled()] {
        let house = house_with(kept, [Step::reply("again")]).await;
        assert_end(&house.run(task("t")).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        let report = house.run_with(task("t"), late(Reconcile::Retry)).await;
        assert_eq!((report.text(), report.attempt), ("again", 2));
        let names = house.events.names_of("t");
        assert_eq!(
            names[3..],
            [
                "timed_out",
                "detached_ended",
                "blocked",
                "reconciled",
                "submitted",
                "selected",
                "started",
                "completed"
            ]
        );
        assert_eq!(late_report(&house), None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_word_of_a_request_is_about_late_work_alone() {
    let house =
        House::of(1, ScriptedExecutor::new([Step::fail(ExecutorError::new("broken")), Step::reply("x")]));
    for (attempt, status) in [(1, TaskStatus::Failed), (2, TaskStatus::Completed)] {
        let report = house.run_with(task("t"), late(Reconcile::Retry)).await;
        assert_eq!((report.attempt, report.status), (attempt, status));
    }
    assert_eq!(house.run_with(task("t"), late(Reconcile::Retry)).await.status, TaskStatus::Blocked);
    assert_eq!(house.events.count(TeamEventKind::Reconciled), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_gets_what_came_late_where_it_says_so() {
    let executor_output = TaskOutput::text("late").with_artifact(Artifact::text("file", "kept").unwrap());
    let house = house_with(Step::reply(executor_output), []).await;
    let session = house.team.session("s").unwrap();
    assert_eq!((session.snapshot().messages().len(), session.activity().late), (1, 1));

    let report = house.run_with(task("t"), late(Reconcile::AcceptLate)).await;
    assert_eq!((report.text(), report.attempt, report.status), ("late", 1, TaskStatus::Completed));
    assert!(!report.detached);
    let snapshot = session.snapshot();
    assert_eq!((snapshot.messages().len(), snapshot.artifacts().len()), (2, 1));
    assert_eq!(house.record("s", "t").report.as_deref(), Some(&report));
    assert!(session.is_idle());

    let event = house.events.events().pop().unwrap();
    assert_eq!(
        (event.kind, event.status, event.attempt),
        (TeamEventKind::Reconciled, TaskStatus::Completed, 1)
    );
    assert_eq!(event.agent.unwrap().as_str(), "a");
    let refused = house.run_with(task("t"), late(Reconcile::AcceptLate)).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.events.count(TeamEventKind::Reconciled), 1);
}

#[tokio::test(start_paused = true)]
async fn what_came_late_has_the_metadata_of_its_request() {
    let house = House::of(2, ScriptedExecutor::new([Step::reply("late").after_delay(ms(100))]));
    let asked = || task("t").with_metadata("ticket", 7);
    let given_up = house.run(asked().with_timeout(ms(10))).await;
    assert_eq!((given_up.detached, &given_up.metadata), (true, &asked().metadata));
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(late_report(&house).unwrap().metadata, asked().metadata);

    // What the deciding request carries is its own.
    let accepted = house.run_with(task("t").with_metadata("ticket", 8), late(Reconcile::AcceptLate)).await;
    assert_eq!((accepted.text(), &accepted.metadata), ("late", &asked().metadata));
}

#[tokio::test(start_paused = true)]
async fn among_many_a_request_gets_what_came_late_and_gives_its_lease_back() {
    let house = house_with(Step::reply("late"), [Step::reply("other")]).await;
    let answers = house.team.run_parallel_with([task("t"), task("u")], late(Reconcile::AcceptLate)).await;
    assert_eq!(crate::house::texts(&answers), ["late", "other"]);
    assert_eq!(house.events.names_of("t").last(), Some(&"reconciled"));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_request_can_neither_abandon_its_task_nor_decide_while_the_work_runs() {
    let gate = Gate::closed();
    let house = House::of(2, ScriptedExecutor::new([Step::reply("late").after(&gate)]));
    assert!(house.run(task("t").with_timeout(ms(10))).await.detached);
    for (decision, code) in [
        (Reconcile::Abandon, ErrorCode::InvalidRequest),
        (Reconcile::Retry, ErrorCode::StillDetached),
        (Reconcile::AcceptLate, ErrorCode::StillDetached),
    ] {
        let refused = house.run_with(task("t"), late(decision)).await;
        assert_end(&refused, TaskStatus::Blocked, code);
        assert_eq!(refused.attempt, 0);
        let refused = house.team.reconcile(&session(), &id("t"), decision).await.unwrap_err();
        let SessionAdminError::Reconcile(ReconcileError::StillDetached { attempt: 1, .. }) = refused else {
            panic!("{refused}");
        };
    }
    assert_eq!(house.events.count(TeamEventKind::Reconciled), 0);
    assert!(house.record("s", "t").detached);
    gate.open();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(late_report(&house).unwrap().text(), "late");
}

#[tokio::test(start_paused = true)]
async fn late_output_that_cannot_be_published_is_refused_like_any_admission_and_stays() {
    let twice = || Artifact::text("file", "x").unwrap();
    let output = TaskOutput::text("late").with_artifact(twice()).with_artifact(twice());
    let house = house_with(Step::reply(output), []).await;
    let before = house.record("s", "t");

    let refused = house.run_with(task("t"), late(Reconcile::AcceptLate)).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::ContractViolation);
    assert_eq!((refused.attempt, house.events.names_of("t").pop()), (0, Some("blocked")));
    let many = house.team.run_parallel_with([task("t")], late(Reconcile::AcceptLate)).await;
    assert_end(many[0].as_ref().unwrap(), TaskStatus::Blocked, ErrorCode::ContractViolation);
    let refused = house.team.reconcile(&session(), &id("t"), Reconcile::AcceptLate).await.unwrap_err();
    assert!(matches!(refused, SessionAdminError::Reconcile(ReconcileError::Output(_))), "{refused}");

    assert_eq!(house.record("s", "t"), before, "nothing was decided");
    assert_eq!(house.events.count(TeamEventKind::Reconciled), 0);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_host_decides_once_and_each_decision_is_told_once() {
    let cases = [
        (Reconcile::Retry, TaskStatus::TimedOut, true),
        (Reconcile::Abandon, TaskStatus::TimedOut, false),
        (Reconcile::AcceptLate, TaskStatus::Completed, false),
    ];
    for (decision, status, is_open) in cases {
        let house = house_with(Step::reply("late"), [Step::reply("again")]).await;
        let report = house.team.reconcile(&session(), &id("t"), decision).await.unwrap();
        assert_eq!((report.status, report.attempt), (status, 1));
        house.team.reconcile(&session(), &id("t"), decision).await.unwrap_err();
        assert_eq!(house.events.count(TeamEventKind::Reconciled), 1);
        let event = house.events.events().pop().unwrap();
        assert_eq!((event.kind, event.status, event.task.as_str()), (TeamEventKind::Reconciled, status, "t"));
        let record = house.record("s", "t");
        assert_eq!((record.status, record.late, record.reconciled), (status, None, Some(decision)));
        assert!(house.team.session("s").unwrap().is_idle());
        assert_eq!(house.run(task("t")).await.is_success(), is_open, "{decision:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_decide_at_once_one_does_and_it_is_told_once() {
    for _ in 0..30 {
        let gate = Gate::closed();
        let registry = registry([(agent("a"), ScriptedExecutor::new([Step::reply("late").after(&gate)]))]);
        let house = House::built(registry, |builder| builder.grace(ms(0)));
        let handle = house.team.spawn(task("t"));
        gate.arrived(1).await;
        handle.cancel();
        assert!(handle.await.unwrap().detached);
        gate.open();
        house.events.seen(TeamEventKind::DetachedEnded, 1).await;
        let decisions = (0..8).map(|number| {
            let team = house.team.clone();
            tokio::spawn(async move {
                if number % 2 == 0 {
                    team.reconcile(&session(), &id("t"), Reconcile::AcceptLate).await.is_ok()
                } else {
                    team.run_with(task("t"), late(Reconcile::AcceptLate)).await.unwrap().is_success()
                }
            })
        });
        let decided = join_all(decisions).await.into_iter().filter(|one| *one.as_ref().unwrap()).count();
        assert_eq!((decided, house.events.count(TeamEventKind::Reconciled)), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_session_goes_once_it_is_decided_about_its_task() {
    for decision in [Reconcile::Retry, Reconcile::Abandon, Reconcile::AcceptLate] {
        let house = House::of(1, ScriptedExecutor::new([Step::reply("late").after_delay(ms(100))]));
        let report = house.run(TaskRequest::new("x").with_timeout(ms(10))).await;
        sleep(ms(200)).await;
        assert_eq!(house.team.stats().sessions, 1);
        house.team.reconcile(&report.session, &report.task, decision).await.unwrap();
        assert_eq!(house.team.stats().sessions, 0, "{decision:?}");
        let unknown = house.team.reconcile(&report.session, &report.task, decision).await.unwrap_err();
        assert!(matches!(unknown, SessionAdminError::Unknown { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_session_goes_with_the_request_that_accepts_its_late_report() {
    for decision in [Reconcile::AcceptLate, Reconcile::Retry] {
        let steps = [Step::reply("late").after_delay(ms(100)), Step::reply("again")];
        let house = House::of(1, ScriptedExecutor::new(steps));
        let report = house.run(TaskRequest::new("x").with_timeout(ms(10))).await;
        sleep(ms(200)).await;
        let request = TaskRequest::new("x").with_id(report.task.as_str()).in_session(report.session.clone());
        assert!(house.run_with(request, late(decision)).await.is_success());
        assert_eq!(house.team.stats().sessions, 0, "{decision:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_word_that_only_says_that_it_stopped_leaves_nothing_to_decide() {
    let obeys_late = || Step::fail(ExecutorError::cancelled());
    let house = house_with(obeys_late(), []).await;
    assert_eq!((late_report(&house), house.team.session("s").unwrap().is_idle()), (None, true));

    let house = House::of(1, ScriptedExecutor::new([obeys_late().after_delay(ms(100))]));
    house.run(TaskRequest::new("x").with_timeout(ms(10))).await;
    sleep(ms(200)).await;
    assert_eq!(house.team.stats().sessions, 0, "an unnamed session goes with it");
}

#[tokio::test(start_paused = true)]
async fn what_came_late_keeps_its_own_status() {
    let late = [
        (Step::fail(ExecutorError::new("broken")), TaskStatus::Failed, Some(ErrorCode::ExecutionFailed)),
        (Step::panic("broken"), TaskStatus::Failed, Some(ErrorCode::ExecutorPanicked)),
        (Step::pause("which?"), TaskStatus::InputRequired, None),
    ];
    for (step, status, code) in late {
        let house = house_with(step, [Step::reply("on")]).await;
        let accepted = house.team.reconcile(&session(), &id("t"), Reconcile::AcceptLate).await.unwrap();
        assert_end(&accepted, status, code);
        assert_eq!(house.record("s", "t").status, status);
        assert_eq!(house.run(task("t")).await.text(), "on", "it goes on from there");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_whose_work_came_late_may_be_run_again_without_a_word() {
    let steps = [Step::reply("late").after_delay(ms(100)), Step::reply("again")];
    let house = House::new(registry([(agent("a"), ScriptedExecutor::new(steps))]));
    let handle = house.team.spawn(task("t"));
    settle().await;
    handle.cancel();
    assert!(handle.await.unwrap().detached);
    sleep(ms(200)).await;
    assert_eq!(late_report(&house).unwrap().text(), "late");
    let report = house.run(task("t")).await;
    assert_eq!((report.text(), report.attempt, late_report(&house)), ("again", 2, None));
}

#[tokio::test(start_paused = true)]
async fn nobody_decides_about_what_is_not_known() {
    let house = House::of(1, ScriptedExecutor::new([]));
    let unknown = house.team.reconcile(&session(), &id("t"), Reconcile::Retry).await.unwrap_err();
    assert_eq!(unknown.to_string(), "session `s` is not known here; create it, or run a task in it");
    house.team.create_session("s").unwrap();
    let unknown = house.team.reconcile(&session(), &id("t"), Reconcile::Retry).await.unwrap_err();
    assert!(matches!(unknown, SessionAdminError::Reconcile(ReconcileError::Unknown { .. })));
}
