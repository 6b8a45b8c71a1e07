//! What nested work has of the task that asks for it, where a handle is recognised, and what ends with whom.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::sleep;

use convoke_core::{AgentDescriptor, Budget, ErrorCode, TaskReport, TaskRequest, TaskStatus, Units};
use convoke_registry::{
    AgentRegistry, BlockingExecutor, ExecutionContext, FunctionExecutor, RunOptions, TaskHandle, TeamHandle,
};
use convoke_session::Author;
use convoke_team::TeamRuntime;

use crate::{
    house::{assert_end, ms, settle},
    nested::{inner, team, text, with_outer},
};

async fn run_outer<F, W>(outer: F) -> TaskReport
where
    F: Fn(ExecutionContext, TeamHandle) -> W + Send + Sync + 'static,
    W: Future<Output = Result<String, convoke_core::ExecutorError>> + Send,
{
    let (registry, captured) = with_outer(outer);
    let team = team(&registry, 1);
    *captured.lock() = Some(team.handle());
    let request = TaskRequest::new("x").requiring("outer").with_id("outer").in_session("s");
    team.run(request.with_timeout(Duration::from_mins(1))).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_captured_handle_is_recognised_inside_the_task() {
    let report =
        run_outer(|_ctx, captured| async move { Ok(captured.run(inner("i")).await?.text().to_owned()) });
    assert_eq!(text(&report.await), "i < outer");
}

#[tokio::test(start_paused = true)]
async fn a_captured_handle_is_recognised_in_a_wrapped_future() {
    let report = run_outer(|ctx, captured| async move {
        let wrapped = ctx.scope().wrap(async move { captured.run(inner("i")).await });
        Ok(tokio::spawn(wrapped).await??.text().to_owned())
    });
    assert_eq!(text(&report.await), "i < outer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_captured_handle_is_recognised_in_a_blocking_executor() {
    let (registry, captured) = with_outer(|_, _| async { Ok(String::new()) });
    let handle = Arc::clone(&captured);
    let blocking = BlockingExecutor::new(move |_request, _ctx| {
        let captured = handle.lock().clone().unwrap();
        let tokio = tokio::runtime::Handle::current();
        let run = tokio.block_on(captured.run(inner("run")))?;
        let spawned = tokio.block_on(captured.spawn(inner("spawned")))?;
        let many = tokio.block_on(captured.run_parallel([inner("many")])).remove(0)?;
        Ok([run.text(), spawned.text(), many.text()].join(", "))
    });
    registry.replace("outer", blocking).unwrap();
    // One slot, which it lends although its thread is blocked.
    let team = team(&registry, 1);
    *captured.lock() = Some(team.handle());
    let report = team.run(TaskRequest::new("x").requiring("outer").with_id("outer")).await.unwrap();
    assert_eq!(text(&report), "run < outer, spawned < outer, many < outer");
    assert_eq!((team.stats().slots.taken, registry.get("inner").unwrap().active), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_handle_of_the_context_carries_its_task_across_a_spawn() {
    let report = run_outer(|ctx, _captured| async move {
        let team = ctx.team().clone();
        Ok(tokio::spawn(async move { team.run(inner("i")).await }).await??.text().to_owned())
    });
    assert_eq!(text(&report.await), "i < outer");
}

#[tokio::test(start_paused = true)]
async fn a_captured_handle_starts_independent_work_elsewhere() {
    let (registry, captured) = with_outer(|_ctx, captured| async move {
        Ok(tokio::spawn(async move { captured.run(inner("i")).await }).await??.text().to_owned())
    });
    // Two slots: the outer one does not lend its own, since nobody can know that it waits.
    let team = team(&registry, 2);
    *captured.lock() = Some(team.handle());
    assert_eq!(text(&team.run(TaskRequest::new("x").requiring("outer")).await.unwrap()), "i");
}

#[tokio::test(start_paused = true)]
async fn what_a_task_has_started_is_cancelled_when_it_ends_and_its_handle_is_refused() {
    let kept: Arc<Mutex<Option<(TeamHandle, TaskHandle)>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let (registry, captured) = with_outer(move |ctx, _captured| {
        let keep = Arc::clone(&keep);
        async move {
            let left = ctx.team().spawn(TaskRequest::new("wait").requiring("inner").with_id("left"));
            sleep(ms(1)).await;
            *keep.lock() = Some((ctx.team().clone(), left));
            Ok("done".to_owned())
        }
    });
    let team = team(&registry, 4);
    *captured.lock() = Some(team.handle());
    assert_eq!(text(&team.run(TaskRequest::new("x").requiring("outer").with_id("p")).await.unwrap()), "done");
    let (handle, left) = kept.lock().take().unwrap();
    assert_end(&left.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    let refused = handle.run(inner("i")).await.unwrap();
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!((refused.attempt, team.session(&refused.session).is_none()), (0, true));
    assert!(refused.error.unwrap().to_string().contains("task `p` has ended"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_parent_takes_its_children_with_it() {
    let (registry, captured) = with_outer(|ctx, _captured| async move {
        let nested = TaskRequest::new("wait").requiring("inner").with_id("child");
        Ok(ctx.team().run(nested).await?.status.to_string())
    });
    let team = team(&registry, 1);
    *captured.lock() = Some(team.handle());
    let parent = team.spawn(TaskRequest::new("x").requiring("outer").in_session("s").with_id("parent"));
    settle().await;
    parent.cancel();
    let report = parent.await.unwrap();
    assert_eq!(text(&report), "cancelled", "the child could still be told to it");
    let session = team.session("s").unwrap();
    let child = session.snapshot().task(&convoke_core::TaskId::new("child").unwrap()).unwrap().clone();
    assert_eq!(child.status, TaskStatus::Cancelled);
}

/// Time left, and the trace.
type Inherited = (Option<Duration>, Option<String>);

#[tokio::test(start_paused = true)]
async fn nested_work_inherits_session_trace_budget_and_an_earlier_deadline() {
    let seen: Arc<Mutex<Vec<Inherited>>> = Arc::default();
    let notes = Arc::clone(&seen);
    let registry = AgentRegistry::new();
    let executor = FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
        let notes = Arc::clone(&notes);
        async move {
            let trace = ctx.scope().trace_id().map(ToString::to_string);
            notes.lock().push((ctx.remaining_time(), trace));
            if let Some(budget) = ctx.budget() {
                budget.reserve(Units::calls(1))?.sent();
            }
            if request.input == "outer" {
                let report = ctx.team().run(TaskRequest::new("inner").with_timeout(ms(10_000))).await?;
                assert_eq!(report.session.as_str(), "s");
            }
            Ok("done")
        }
    });
    registry.add(AgentDescriptor::new("a").with_max_concurrency(2), executor).unwrap();
    let budget = Budget::builder().limit("calls", 5).build();
    let team = TeamRuntime::builder(registry).budget(budget.clone()).build().unwrap();
    for (timeout, inner) in [(80, 70), (8_000, 7_950)] {
        let request =
            TaskRequest::new("outer").in_session("s").with_trace_id("trace").with_timeout(ms(timeout));
        assert!(team.run(request).await.unwrap().is_success());
        let trace = Some("trace".to_owned());
        let expected = [(Some(ms(timeout)), trace.clone()), (Some(ms(inner)), trace)];
        assert_eq!(std::mem::take(&mut *seen.lock()), expected);
    }
    assert_eq!(budget.usage("calls").committed, 4);
    let inputs = team.session("s").unwrap().snapshot();
    let authors: Vec<_> = inputs.messages().filter(|one| one.id.as_str().ends_with("input")).collect();
    assert_eq!(authors[0].author, Author::Host);
    assert!(matches!(&authors[1].author, Author::Agent(agent) if agent.as_str() == "a"));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_not_under_the_parents_is_refused() {
    let (registry, captured) = with_outer(|ctx, _captured| async move {
        let mut codes = Vec::new();
        let own = Budget::builder().limit("calls", 100).build();
        let under = ctx.budget().unwrap().child().limit("calls", 1).build();
        for budget in [own, under] {
            let report = ctx.team().run_with(inner("i"), RunOptions::new().with_budget(budget)).await?;
            codes.push(report.code().map_or("none".to_owned(), |code| code.to_string()));
        }
        Ok(codes.join(" "))
    });
    let budget = Budget::builder().limit("calls", 5).build();
    let team = TeamRuntime::builder(registry).budget(budget).build().unwrap();
    *captured.lock() = Some(team.handle());
    assert_eq!(
        text(&team.run(TaskRequest::new("x").requiring("outer")).await.unwrap()),
        "invalid_request none"
    );
}

#[tokio::test(start_paused = true)]
async fn independent_work_outlives_who_started_it_and_keeps_only_the_trace() {
    let kept: Arc<Mutex<Option<TaskHandle>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let (registry, captured) = with_outer(move |ctx, _captured| {
        let keep = Arc::clone(&keep);
        async move {
            *keep.lock() = Some(ctx.team().spawn_independent(inner("free")));
            Ok("done".to_owned())
        }
    });
    let trace = Arc::new(Mutex::new(Vec::new()));
    let traces = Arc::clone(&trace);
    let team = TeamRuntime::builder(registry)
        .max_parallel_tasks(1)
        .on_event(move |event| traces.lock().push((event.task.to_string(), event.trace_id.clone())))
        .build()
        .unwrap();
    *captured.lock() = Some(team.handle());
    let request = TaskRequest::new("x").requiring("outer").in_session("s").with_trace_id("t");
    team.run(request).await.unwrap();
    let free = kept.lock().take().unwrap();
    let free = free.await.unwrap();
    assert_eq!(text(&free), "free", "it has no lineage");
    assert_ne!(free.session.as_str(), "s");
    assert!(trace.lock().iter().filter(|(task, _)| task == "free").all(|(_, id)| id.as_deref() == Some("t")));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_has_started_and_not_awaited_does_not_begin_with_its_slot() {
    let kept: Arc<Mutex<Option<TaskHandle>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let (registry, captured) = with_outer(move |ctx, _captured| {
        *keep.lock() = Some(ctx.team().spawn(inner("left")));
        async move {
            sleep(ms(1)).await;
            Ok("done".to_owned())
        }
    });
    let team = team(&registry, 1);
    *captured.lock() = Some(team.handle());
    assert_eq!(text(&team.run(TaskRequest::new("x").requiring("outer")).await.unwrap()), "done");
    let left = kept.lock().take().unwrap();
    let report = left.await.unwrap();
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(report.agent, None, "it waited in line");
}
