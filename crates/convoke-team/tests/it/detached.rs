//! Work that goes on although its caller has the answer.

use std::{sync::mpsc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};

use convoke_core::{ErrorCode, Message, TaskRequest, TaskStatus};
use convoke_registry::{ExecutorCapabilities, FunctionExecutor};
use convoke_session::SessionError;
use convoke_team::TeamEventKind;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

#[tokio::test(start_paused = true)]
async fn the_caller_has_its_answer_after_the_grace_and_the_work_keeps_what_it_holds_until_it_ends() {
    let executor = ScriptedExecutor::new([Step::reply("late").after_delay(ms(120))]);
    let house = House::built(registry([(agent("a").with_max_concurrency(2), executor.clone())]), |builder| {
        builder.max_parallel_tasks(2)
    });
    let start = Instant::now();
    let report = house.run(task("t").with_timeout(ms(20)).with_trace_id("trace-1")).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(70), "the timeout and the grace");
    assert!(report.detached);
    assert_eq!((report.output.as_ref(), report.timing.executed), (None, ms(70)));
    assert_eq!(house.events.names(), ["submitted", "selected", "started", "timed_out"]);

    for _ in 0..49 {
        sleep(ms(1)).await;
        assert_eq!((house.load("a"), house.slots().taken, house.team.stats().detached), ((1, 1), 1, 1));
        assert!(house.record("s", "t").detached);
        house.assert_sound();
    }
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(start.elapsed(), ms(120));
    house.assert_rest();
    let record = house.record("s", "t");
    assert_eq!((record.status, record.detached), (TaskStatus::TimedOut, false));
    assert_eq!(record.report.unwrap().output, None, "what comes late is not published");
    assert_eq!(house.team.session("s").unwrap().snapshot().messages().len(), 1);
    let last = house.events.events().pop().unwrap();
    assert_eq!((last.kind, last.trace_id.as_deref()), (TeamEventKind::DetachedEnded, Some("trace-1")));
    assert_eq!((last.agent.unwrap().as_str(), last.attempt, last.elapsed), ("a", 1, ms(120)));
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn detached_work_counts_against_the_limit() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("late").after(&gated));
    let house = House::built(registry([(agent("a").with_max_concurrency(8), executor.clone())]), |builder| {
        builder.max_parallel_tasks(2)
    });
    let requests = || [0, 1, 2].map(|_| TaskRequest::new("x").with_timeout(ms(20)));
    let answers = house.team.run_parallel(requests()).await;
    assert_eq!(answers.iter().filter(|answer| answer.as_ref().unwrap().detached).count(), 2);
    assert_eq!((executor.peak(), house.slots().taken), (2, 2));
    let handle = house.team.spawn(TaskRequest::new("x"));
    sleep(ms(1_000)).await;
    assert_eq!(handle.status(), TaskStatus::Submitted);
    gate.open();
    assert!(handle.await.unwrap().is_success());
    settle().await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_write_after_the_answer_is_refused_and_told() {
    let (sender, mut refused) = tokio::sync::mpsc::unbounded_channel();
    let step = Step::call(move |_, ctx| async move {
        ctx.session().post(Message::agent("staged in time"))?;
        sleep(ms(120)).await;
        assert!(ctx.session().is_revoked());
        sender.send(ctx.session().post(Message::agent("late")).unwrap_err()).unwrap();
        sender.send(ctx.session().set("key", json!(1)).await.unwrap_err()).unwrap();
        Ok("late")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    house.run(task("t").with_timeout(ms(20)).with_trace_id("trace-1")).await;
    for _ in 0..2 {
        assert!(matches!(refused.recv().await.unwrap(), SessionError::Revoked { attempt: 1, .. }));
    }
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    let names = ["submitted", "selected", "started", "timed_out", "late_write_refused", "late_write_refused"];
    assert_eq!(house.events.names()[..6], names);
    let late = &house.events.events()[4];
    assert_eq!((late.task.as_str(), late.attempt, late.trace_id.as_deref()), ("t", 1, Some("trace-1")));
    assert_eq!((late.agent.as_ref().unwrap().as_str(), late.status), ("a", TaskStatus::TimedOut));
    let snapshot = house.team.session("s").unwrap().snapshot();
    assert_eq!((snapshot.messages().len(), snapshot.states().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_after_a_completed_end_is_refused_and_told_too() {
    let gate = Gate::closed();
    let late = gate.clone();
    let step = Step::call(move |_, ctx| async move {
        tokio::spawn(async move {
            late.pass().await;
            ctx.session().post(Message::agent("late")).unwrap_err();
        });
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert!(house.run(task("t")).await.is_success());
    gate.open();
    house.events.seen(TeamEventKind::LateWriteRefused, 1).await;
    assert_eq!(house.events.events().pop().unwrap().status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn detached_work_that_panics_ends_like_any_other() {
    let house = House::of(1, ScriptedExecutor::new([Step::panic("late").after_delay(ms(120))]));
    assert!(house.run(task("t").with_timeout(ms(20))).await.detached);
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    house.assert_rest();
    assert_eq!(house.record("s", "t").status, TaskStatus::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn work_that_may_be_dropped_is_dropped_at_once_and_never_detached() {
    for by_deadline in [true, false] {
        let executor = ScriptedExecutor::new([Step::reply("own word").once_cancelled()])
            .with_capabilities(ExecutorCapabilities::default().with_abort_on_cancel());
        let house = House::of(1, executor.clone());
        let mut request = task("t");
        request.timeout = by_deadline.then_some(ms(20));
        let start = Instant::now();
        let handle = house.team.spawn(request);
        sleep(ms(20)).await;
        if !by_deadline {
            handle.cancel();
        }
        let report = handle.await.unwrap();
        assert_eq!(start.elapsed(), ms(20));
        let (status, code) = if by_deadline {
            (TaskStatus::TimedOut, ErrorCode::TimedOut)
        } else {
            (TaskStatus::Cancelled, ErrorCode::Cancelled)
        };
        assert_end(&report, status, code);
        assert!(!report.detached);
        executor.assert_done();
        house.assert_rest();
    }
}

/// The one place where real time passes: a poll that really blocks its thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_poll_that_does_not_yield_is_detached_and_dropped_at_its_first_yield() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let (entered, has_entered) = tokio::sync::oneshot::channel();
    let (entered, after_yield) = (std::sync::Mutex::new(Some(entered)), Gate::closed());
    let gate = after_yield.clone();
    let executor = FunctionExecutor::new(move |_, _| {
        if let Some(entered) = entered.lock().unwrap().take() {
            entered.send(()).unwrap();
            blocked.lock().unwrap().recv().unwrap();
        }
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok("done")
        }
    });
    let executor = executor.with_capabilities(ExecutorCapabilities::default().with_abort_on_cancel());
    let house = House::built(registry([(agent("a"), executor)]), |builder| builder.grace(ms(10)));
    let handle = house.team.spawn(task("t"));
    has_entered.await.unwrap();
    handle.cancel();
    let report = tokio::time::timeout(Duration::from_mins(1), handle).await.unwrap().unwrap();
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert!(report.detached, "nobody can stop a thread");
    let next = house.team.spawn(task("u"));
    assert_eq!((house.load("a"), next.status()), ((1, 1), TaskStatus::Submitted));

    release.send(()).unwrap();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert!(!house.record("s", "t").detached);
    // The first call has come by on its way to its first yield, and is gone.
    after_yield.arrived(2).await;
    after_yield.let_through(1);
    assert!(next.await.unwrap().is_success());
    house.assert_rest();
}

/// Holds its own place and awaits an independent task that needs it: the one slot, or an agent behind somebody who needs
/// the place in turn.
#[tokio::test(start_paused = true)]
async fn detached_work_awaits_nothing_any_more_so_that_what_needs_its_place_does_not_wait_for_ever() {
    for begins_late in [false, true] {
        let said = std::sync::Arc::new(std::sync::Mutex::new(None));
        let says = std::sync::Arc::clone(&said);
        let outer = Step::call(move |_, ctx| async move {
            let independent = ctx.team().spawn_independent(task("independent").requiring("inner"));
            if begins_late {
                sleep(ms(200)).await;
            }
            let report = independent.await?;
            *says.lock().unwrap() = Some(report);
            Ok("late")
        });
        let inner = ScriptedExecutor::echo();
        let house = House::built(
            registry([
                (agent("outer").with_skill("outer"), ScriptedExecutor::new([outer])),
                (agent("inner").with_skill("inner"), inner.clone()),
            ]),
            |builder| builder.max_parallel_tasks(1),
        );
        let skills = [convoke_core::SkillId::new("inner").unwrap()];
        let held = house.registry.acquire(convoke_registry::LeaseRequest::new(&skills)).await.unwrap();
        let report = house.run(task("t").requiring("outer").with_timeout(ms(20))).await;
        assert!(report.detached);
        drop(held);
        house.events.seen(TeamEventKind::DetachedEnded, 1).await;
        let refused = said.lock().unwrap().take().unwrap();
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!((refused.task.as_str(), refused.attempt), ("independent", 0));
        // The task itself goes on.
        house.events.seen(TeamEventKind::Completed, 1).await;
        assert_eq!(inner.calls(), 1);
        settle().await;
        house.assert_rest();
    }
}
