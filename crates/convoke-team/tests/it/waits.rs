//! Waits that are let go of, handed on or refused: nobody hangs, and the task behind a refused wait goes on.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use convoke_core::{AgentDescriptor, ErrorCode, ExecutorError, TaskRequest, TaskStatus};
use convoke_registry::{
    AgentRegistry, Availability, ExecutionContext, FunctionExecutor, RunOptions, TaskHandle, TeamHandle,
};
use convoke_session::{IfCompleted, Reconcile};
use convoke_team::TeamRuntime;
use convoke_testkit::Gate;

use crate::{
    house::{assert_end, ms, settle, task},
    nested::{team, text},
};

/// Registers an agent whose name is its skill.
fn add<F, W>(registry: &AgentRegistry, name: &str, function: F)
where
    F: Fn(TaskRequest, ExecutionContext) -> W + Send + Sync + 'static,
    W: Future<Output = Result<String, ExecutorError>> + Send + 'static,
{
    registry.add(AgentDescriptor::new(name).with_skill(name), FunctionExecutor::new(function)).unwrap();
}

fn asking(agent: &str) -> TaskRequest {
    TaskRequest::new("x").preferring(agent)
}

#[tokio::test(start_paused = true)]
async fn who_lets_go_of_a_handle_can_lend_its_slot_again() {
    let registry = AgentRegistry::new();
    add(&registry, "a", |request, ctx| async move {
        if request.input == "leaf" {
            return Ok("leaf".into());
        }
        let left = ctx.team().spawn(asking("b"));
        assert!(timeout(ms(10), left).await.is_err(), "it works on");
        Ok(ctx.team().run(asking("d")).await?.text().to_owned())
    });
    add(&registry, "b", |_, ctx| async move {
        sleep(ms(20)).await;
        // Its caller has the only unit of that, and is not to wait for a slot.
        Ok(ctx.team().run(TaskRequest::new("leaf").preferring("a")).await?.status.to_string())
    });
    add(&registry, "d", |_, _| async {
        sleep(ms(50)).await;
        Ok("d".into())
    });
    let team = team(&registry, 1);
    let report = timeout(ms(60_000), team.run(asking("a"))).await.expect("nobody hangs").unwrap();
    assert_eq!(text(&report), "d");
    settle().await;
    assert_eq!(team.stats().slots.taken, 0);
}

#[tokio::test(start_paused = true)]
async fn work_that_goes_on_alone_counts_in_the_limit() {
    let gate = Gate::closed();
    let passing = gate.clone();
    let registry = AgentRegistry::new();
    add(&registry, "a", |_, ctx| async move {
        let mut left = ctx.team().spawn_independent(asking("b"));
        assert!(timeout(ms(10), &mut left).await.is_err());
        drop(left);
        Ok("a".into())
    });
    add(&registry, "b", move |_, _| {
        let gate = passing.clone();
        async move {
            gate.pass().await;
            Ok("b".into())
        }
    });
    add(&registry, "c", |_, _| async { Ok("c".into()) });
    let team = team(&registry, 1);
    assert_eq!(text(&team.run(asking("a")).await.unwrap()), "a");
    assert_eq!(team.stats().slots.taken, 1, "it has a slot of its own now");
    let mut next = team.spawn(asking("c"));
    settle().await;
    assert_eq!(next.status(), TaskStatus::Submitted);
    assert!(futures_util::poll!(&mut next).is_pending());
    gate.open();
    assert_eq!(text(&next.await.unwrap()), "c");
    assert_eq!(team.stats().slots.taken, 0);
}

#[tokio::test(start_paused = true)]
async fn after_an_agent_has_gone_the_wait_is_refused_and_the_task_goes_on() {
    let registry = AgentRegistry::new();
    let kept: Arc<Mutex<Option<TaskHandle>>> = Arc::default();
    let gate = Gate::closed();
    let with_x = |name: &str| AgentDescriptor::new(name).with_skill("x");
    let busy = FunctionExecutor::new({
        let gate = gate.clone();
        move |_request, _ctx| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok("stranger")
            }
        }
    });
    registry.add(with_x("stranger"), busy).unwrap();
    let parent = FunctionExecutor::new({
        let keep = Arc::clone(&kept);
        move |request: TaskRequest, ctx: ExecutionContext| {
            let keep = Arc::clone(&keep);
            async move {
                if request.input == "leaf" {
                    return Ok("leaf".to_owned());
                }
                let leaf = TaskRequest::new("leaf").requiring("x").with_id("leaf");
                let mut leaf = ctx.team().spawn_independent(leaf);
                let report = (&mut leaf).await?;
                *keep.lock() = Some(leaf);
                Ok(report.code().map(|code| format!("{code} {}", report.attempt)).unwrap_or_default())
            }
        }
    });
    registry.add(with_x("parent"), parent).unwrap();
    let team = team(&registry, 4);
    let stranger = team.spawn(asking("stranger"));
    gate.arrived(1).await;
    let mut parent = team.spawn(asking("parent"));
    settle().await;
    assert!(futures_util::poll!(&mut parent).is_pending(), "the stranger may yet serve it");
    registry.set_availability("stranger", Availability::Offline).unwrap();
    assert_eq!(text(&parent.await.unwrap()), "wait_cycle 0");
    let leaf = kept.lock().take().unwrap();
    assert_eq!(text(&leaf.await.unwrap()), "leaf", "it ran once its waiter had ended");
    gate.open();
    stranger.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn reading_the_updates_of_a_handle_is_waiting() {
    let registry = AgentRegistry::new();
    add(&registry, "a", |_, ctx| async move {
        let mut handle = ctx.team().spawn(asking("b"));
        let mut updates = handle.updates().unwrap();
        let mut seen = Vec::new();
        while let Some(update) = updates.next().await {
            seen.push(update.text);
        }
        Ok(format!("{} {}", seen.join(" "), handle.await?.text()))
    });
    add(&registry, "b", |_, ctx| async move {
        ctx.emit("half");
        Ok("done".into())
    });
    add(&registry, "self", |_, ctx| async move {
        let mut handle = ctx.team().spawn(asking("self"));
        let mut updates = handle.updates().unwrap();
        assert_eq!(updates.next().await, None, "it could never end");
        Ok(handle.await?.code().map(|code| code.to_string()).unwrap_or_default())
    });
    let team = team(&registry, 1);
    assert_eq!(text(&team.run(asking("a")).await.unwrap()), "half done");
    assert_eq!(text(&team.run(asking("self")).await.unwrap()), "wait_cycle");
}

#[tokio::test(start_paused = true)]
async fn who_polls_waits_and_not_who_asked() {
    // X hands its team on to Y, which has the agent that it asks for with it.
    let handed: Arc<Mutex<Option<TeamHandle>>> = Arc::default();
    let registry = AgentRegistry::new();
    let hand = Arc::clone(&handed);
    let over = Gate::closed();
    let passing = over.clone();
    add(&registry, "x", move |_, ctx| {
        *hand.lock() = Some(ctx.team().clone());
        let gate = passing.clone();
        async move {
            gate.pass().await;
            Ok("x".into())
        }
    });
    let taken = Arc::clone(&handed);
    add(&registry, "y", move |_, _| {
        let others = taken.lock().clone().unwrap();
        async move { Ok(others.run(asking("y")).await?.code().map(|code| code.to_string()).unwrap_or_default()) }
    });
    let team = team(&registry, 4);
    let x = team.spawn(asking("x"));
    over.arrived(1).await;
    let y = timeout(ms(60_000), team.run(asking("y"))).await.expect("it does not hang").unwrap();
    assert_eq!(text(&y), "wait_cycle");
    over.open();
    x.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_keeps_the_handle_of_its_task_keeps_no_registry() {
    let dropped = Arc::new(());
    let alive = Arc::downgrade(&dropped);
    let kept: Mutex<Vec<TeamHandle>> = Mutex::default();
    let registry = AgentRegistry::new();
    let executor = FunctionExecutor::new(move |_request, ctx: ExecutionContext| {
        assert!(Arc::strong_count(&dropped) > 0);
        kept.lock().push(ctx.team().clone());
        async { Ok("done") }
    });
    registry.add(AgentDescriptor::new("a"), executor).unwrap();
    let team = TeamRuntime::builder(registry).build().unwrap();
    assert!(team.run(asking("a")).await.unwrap().is_success());
    drop(team);
    settle().await;
    assert!(alive.upgrade().is_none(), "the executor is gone with its registry");
}

#[tokio::test(start_paused = true)]
async fn a_word_about_what_ran_before_needs_a_session() {
    let registry = AgentRegistry::new();
    add(&registry, "a", |_, _| async { Ok("a".into()) });
    let team = team(&registry, 1);
    let options = [
        ("t", RunOptions::new().with_if_completed(IfCompleted::Return)),
        ("u", RunOptions::new().with_late(Reconcile::Retry)),
    ];
    for (id, options) in options {
        let refused = team.run_with(asking("a").with_id(id), options.clone()).await.unwrap();
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert!(refused.error.unwrap().to_string().contains("names no session"));
        assert!(team.run_with(task(id).preferring("a"), options).await.unwrap().is_success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_asks_as_it_ends_gets_no_session_anew() {
    let registry = AgentRegistry::new();
    let left: Arc<Mutex<Vec<TaskHandle>>> = Arc::default();
    let leave = Arc::clone(&left);
    let executor = FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
        let leave = Arc::clone(&leave);
        async move {
            if request.input == "x" {
                leave.lock().push(ctx.team().spawn(TaskRequest::new("leaf")));
            }
            Ok("done")
        }
    });
    registry.add(AgentDescriptor::new("a").with_max_concurrency(8), executor).unwrap();
    let team = team(&registry, 8);
    for _ in 0..200 {
        team.run(TaskRequest::new("x")).await.unwrap();
    }
    let left = std::mem::take(&mut *left.lock());
    for handle in left {
        let report = handle.await.unwrap();
        let code = report.code().unwrap_or(ErrorCode::Cancelled);
        assert!(matches!(code, ErrorCode::Cancelled | ErrorCode::InvalidRequest), "{report}");
    }
    assert_eq!(team.stats().sessions, 0);
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_was_refused_can_be_awaited_again_and_is_refused_again() {
    let registry = AgentRegistry::new();
    add(&registry, "a", |_, ctx| async move {
        let mut handle = ctx.team().spawn(asking("a"));
        let mut codes = Vec::new();
        for _ in 0..3 {
            codes.push((&mut handle).await?.code().map(|code| code.to_string()).unwrap_or_default());
        }
        Ok(codes.join(" "))
    });
    let team = team(&registry, 1);
    let report = timeout(ms(60_000), team.run(asking("a"))).await.expect("nobody hangs").unwrap();
    assert_eq!(text(&report), "wait_cycle wait_cycle wait_cycle");
}
