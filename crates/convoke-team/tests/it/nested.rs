//! Work that asks for work: one slot is enough, nothing hangs, and what is asked for ends with who asked.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use convoke_core::{
    AgentDescriptor, Budget, ErrorCode, Scope, SkillId, TaskReport, TaskRequest, TaskStatus, Units,
};
use convoke_registry::{
    AgentRegistry, Availability, ExecutionContext, FunctionExecutor, RunOptions, TaskHandle, TeamHandle,
};
use convoke_session::Author;
use convoke_team::TeamRuntime;
use convoke_testkit::Gate;

use crate::house::{assert_end, ms, settle};

/// A registry whose agents `a`, `b`, .. have their own name as a skill and do what `call` says: they ask for the agents
/// that the input names, one inside the other, and answer with the way.
fn chain(agents: &[(&str, u32)]) -> AgentRegistry {
    let registry = AgentRegistry::new();
    for &(name, max) in agents {
        let descriptor = AgentDescriptor::new(name).with_skill(name).with_max_concurrency(max);
        registry.add(descriptor, FunctionExecutor::new(pass_on)).unwrap();
    }
    registry
}

async fn pass_on(request: TaskRequest, ctx: ExecutionContext) -> Result<String, convoke_core::ExecutorError> {
    let Some((_, rest)) = request.input.split_once(' ') else { return Ok(ctx.agent().to_string()) };
    let next = rest.split(' ').next().unwrap_or_default();
    let report = ctx.team().run(TaskRequest::new(rest).requiring(next)).await?;
    match report.code() {
        Some(code) => Ok(format!("{} {code}", ctx.agent())),
        None => Ok(format!("{} {}", ctx.agent(), report.text())),
    }
}

/// A request that goes to the first agent it names, which asks for the second, and so on.
fn way(agents: &str) -> TaskRequest {
    TaskRequest::new(agents).requiring(agents.split(' ').next().unwrap())
}

fn team(registry: &AgentRegistry, slots: usize) -> TeamRuntime {
    TeamRuntime::builder(registry.clone()).max_parallel_tasks(slots).build().unwrap()
}

fn text(report: &TaskReport) -> &str {
    assert!(report.is_success(), "{report}");
    report.text()
}

#[tokio::test(start_paused = true)]
async fn one_slot_is_enough_for_any_depth() {
    let registry = chain(&[("a", 40)]);
    let team = team(&registry, 1);
    let report = team.run(way(["a"; 33].join(" ").as_str())).await.unwrap();
    assert_eq!(text(&report).split(' ').count(), 33);
    assert_eq!((team.stats().slots.taken, registry.get("a").unwrap().active), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn deeper_than_allowed_is_refused_before_anything_is_touched() {
    let registry = chain(&[("a", 40)]);
    let report = team(&registry, 1).run(way(["a"; 34].join(" ").as_str())).await.unwrap();
    assert!(text(&report).ends_with("a depth_exceeded"), "{}", report.text());
    let flat = TeamRuntime::builder(registry).max_nesting_depth(0).build().unwrap();
    assert_eq!(text(&flat.run(way("a a")).await.unwrap()), "a depth_exceeded");
}

#[tokio::test(start_paused = true)]
async fn nested_work_overtakes_an_older_task_that_only_lacks_a_slot() {
    let registry = chain(&[("a", 1), ("b", 1)]);
    let team = team(&registry, 1);
    let (parent, older) = (team.spawn(way("a b")), team.spawn(way("b")));
    assert_eq!(text(&parent.await.unwrap()), "a b");
    assert_eq!(text(&older.await.unwrap()), "b");
}

#[tokio::test(start_paused = true)]
async fn of_two_that_ask_for_each_other_exactly_one_is_refused_with_the_way() {
    let registry = AgentRegistry::new();
    let both_run = Gate::closed();
    for (name, other) in [("a", "b"), ("b", "a")] {
        let gate = both_run.clone();
        let executor = FunctionExecutor::new(move |_request, ctx: ExecutionContext| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                let nested = TaskRequest::new("x").requiring(other).with_id(format!("of {}", ctx.task()));
                let report = ctx.team().run(nested).await?;
                Ok(match report.error {
                    Some(error) => error.to_string(),
                    None => report.text().to_owned(),
                })
            }
        });
        registry.add(AgentDescriptor::new(name).with_skill(name), executor).unwrap();
    }
    let team = team(&registry, 4);
    let one = team.spawn(TaskRequest::new("x").requiring("a").with_id("one").in_session("s"));
    let other = team.spawn(TaskRequest::new("x").requiring("b").with_id("other").in_session("s"));
    both_run.arrived(2).await;
    both_run.open();
    // The one that is refused ends, so that the other gets its agent, which then asks in vain for the one that asks.
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    let texts = [text(&one), text(&other)];
    let refused: Vec<_> = texts.iter().filter(|text| text.contains("could never end")).collect();
    assert!(!refused.is_empty(), "{texts:?}");
    assert!(
        texts.iter().any(|text| text.contains(
            "task `of other` needs agent `a`, which task `one` has; task `one` awaits task `of one`; \
             task `of one` needs agent `b`, which task `other` has; task `other` awaits task `of other`"
        )),
        "{texts:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_asks_for_itself_is_refused() {
    let registry = chain(&[("a", 1)]);
    let team = team(&registry, 4);
    assert_eq!(text(&team.run(way("a a")).await.unwrap()), "a wait_cycle");
    let registry = chain(&[("a", 2)]);
    assert_eq!(text(&self::team(&registry, 4).run(way("a a")).await.unwrap()), "a a");
    assert_eq!(text(&self::team(&registry, 4).run(way("a a a")).await.unwrap()), "a a wait_cycle");
}

/// An agent that never stops until the gate opens, and a parent that asks for it with 20 ms and then for `then`.
fn with_a_stubborn_child(gate: &Gate, then: &'static str) -> AgentRegistry {
    let registry = AgentRegistry::new();
    let gate = gate.clone();
    let stubborn = FunctionExecutor::new(move |_request, _ctx| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok("late")
        }
    });
    registry.add(AgentDescriptor::new("stubborn").with_skill("stubborn"), stubborn).unwrap();
    let fallback = FunctionExecutor::new(|_request, _ctx| async move { Ok("fallback") });
    registry.add(AgentDescriptor::new("fallback").with_skill("fallback"), fallback).unwrap();
    let parent = FunctionExecutor::new(move |_request, ctx: ExecutionContext| async move {
        let nested = TaskRequest::new("x").requiring("stubborn").with_timeout(ms(20));
        let report = ctx.team().run(nested).await?;
        assert!(report.detached);
        if then.is_empty() {
            return Ok(report.status.to_string());
        }
        Ok(ctx.team().run(TaskRequest::new("x").requiring(then)).await?.text().to_owned())
    });
    registry.add(AgentDescriptor::new("parent").with_skill("parent"), parent).unwrap();
    registry
}

#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_stop_holds_up_neither_its_parent_nor_the_next_child() {
    for (then, expected) in [("", "timed_out"), ("fallback", "fallback")] {
        let gate = Gate::closed();
        let registry = with_a_stubborn_child(&gate, then);
        let team = team(&registry, 1);
        let started = Instant::now();
        let report = team.run(TaskRequest::new("x").requiring("parent")).await.unwrap();
        assert_eq!(text(&report), expected);
        assert!(started.elapsed() < ms(100), "{:?}", started.elapsed());
        assert_eq!((team.detached().len(), team.stats().slots.taken), (1, 0), "it counts beside the limit");
        assert_eq!(registry.get("stubborn").unwrap().detached, 1);
        gate.open();
        settle().await;
        assert_eq!((team.detached().len(), registry.get("stubborn").unwrap().active), (0, 0));
    }
}

/// A registry with an agent `inner` and an agent `outer` that does what `outer` says with its context and a handle of the
/// team that it captured.
fn with_outer<F, W>(outer: F) -> (AgentRegistry, Arc<Mutex<Option<TeamHandle>>>)
where
    F: Fn(ExecutionContext, TeamHandle) -> W + Send + Sync + 'static,
    W: Future<Output = Result<String, convoke_core::ExecutorError>> + Send,
{
    let captured: Arc<Mutex<Option<TeamHandle>>> = Arc::default();
    let registry = AgentRegistry::new();
    let handle = Arc::clone(&captured);
    let executor = FunctionExecutor::new(move |_request, ctx: ExecutionContext| {
        let handle = handle.lock().clone().unwrap();
        outer(ctx, handle)
    });
    registry
        .add(AgentDescriptor::new("outer").with_skill("outer").with_max_concurrency(8), executor)
        .unwrap();
    let inner = FunctionExecutor::new(|request: TaskRequest, ctx: ExecutionContext| async move {
        if request.input == "wait" {
            ctx.cancellation().cancelled().await;
            return Ok(convoke_core::TaskOutcome::cancelled());
        }
        let lineage: Vec<_> = ctx.scope().lineage().map(|entry| entry.task.to_string()).collect();
        Ok(convoke_core::TaskOutcome::completed(lineage.join(" < ")))
    });
    registry.add(AgentDescriptor::new("inner").with_skill("inner").with_max_concurrency(8), inner).unwrap();
    (registry, captured)
}

fn inner(id: &str) -> TaskRequest {
    TaskRequest::new("x").requiring("inner").with_id(id)
}

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
async fn awaiting_an_independent_task_that_needs_the_own_agent_is_refused_and_the_task_goes_on() {
    let kept: Arc<Mutex<Option<String>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let registry = AgentRegistry::new();
    let executor = FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
        let keep = Arc::clone(&keep);
        async move {
            if request.input == "leaf" {
                *keep.lock() = Some("ran".to_owned());
                return Ok("leaf".to_owned());
            }
            let leaf = ctx.team().spawn_independent(TaskRequest::new("leaf").with_id("leaf"));
            let report = leaf.await?;
            assert_eq!((report.attempt, report.task.as_str()), (0, "leaf"));
            Ok(report.error.map(|error| error.to_string()).unwrap_or_default())
        }
    });
    registry.add(AgentDescriptor::new("a"), executor).unwrap();
    let team = team(&registry, 4);
    let report = team.run(TaskRequest::new("root").with_id("root")).await.unwrap();
    assert!(
        text(&report).contains("task `leaf` needs agent `a`, which task `root` has"),
        "{}",
        report.text()
    );
    settle().await;
    assert_eq!(kept.lock().as_deref(), Some("ran"));
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_merely_started_a_child_blocks_no_stranger() {
    let gate = Gate::closed();
    let passing = gate.clone();
    let (registry, captured) = with_outer(move |ctx, _captured| {
        let gate = passing.clone();
        async move {
            let _started = ctx.team().spawn(TaskRequest::new("wait").requiring("inner"));
            gate.pass().await;
            Ok("done".to_owned())
        }
    });
    registry.set_availability("inner", Availability::Available).unwrap();
    let team = team(&registry, 3);
    *captured.lock() = Some(team.handle());
    let parent = team.spawn(TaskRequest::new("x").requiring("outer"));
    gate.arrived(1).await;
    assert!(team.run(inner("stranger")).await.unwrap().is_success());
    gate.open();
    assert_eq!(text(&parent.await.unwrap()), "done");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_could_end_through_a_stranger_is_refused_when_that_goes_offline() {
    let registry = AgentRegistry::new();
    let gate = Gate::closed();
    let held = gate.clone();
    let executor = move || {
        let held = held.clone();
        FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
            let held = held.clone();
            async move {
                if request.input == "stranger" {
                    held.pass().await;
                    return Ok("stranger".to_owned());
                }
                let report = ctx.team().run(TaskRequest::new("leaf").requiring("x").with_id("leaf")).await?;
                Ok(report.code().map(|code| code.to_string()).unwrap_or_default())
            }
        })
    };
    registry.add(AgentDescriptor::new("one").with_skill("x"), executor()).unwrap();
    registry.add(AgentDescriptor::new("two").with_skill("x"), executor()).unwrap();
    let team = team(&registry, 4);
    let stranger = team.spawn(TaskRequest::new("stranger").preferring("two"));
    gate.arrived(1).await;
    let mut parent = team.spawn(TaskRequest::new("parent").preferring("one"));
    settle().await;
    assert!(futures_util::poll!(&mut parent).is_pending(), "it waits");
    registry.set_availability("two", Availability::Offline).unwrap();
    assert_eq!(text(&parent.await.unwrap()), "wait_cycle");
    gate.open();
    stranger.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_roots_that_each_ask_a_busy_agent_keep_within_the_limit() {
    let alive = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&alive);
    let (registry, captured) = with_outer(move |ctx, _captured| {
        let alive = Arc::clone(&counted);
        async move {
            {
                let mut alive = alive.lock();
                alive.0 += 1;
                alive.1 = alive.1.max(alive.0);
            }
            let report = ctx.team().run(TaskRequest::new("x").requiring("busy")).await?;
            alive.lock().0 -= 1;
            Ok(report.text().to_owned())
        }
    });
    let busy = FunctionExecutor::new(|_request, _ctx| async {
        sleep(ms(1)).await;
        Ok("busy")
    });
    registry.add(AgentDescriptor::new("busy").with_skill("busy"), busy).unwrap();
    let team = team(&registry, 4);
    *captured.lock() = Some(team.handle());
    let requests = (0..10_000).map(|_| TaskRequest::new("x").requiring("outer"));
    let reports = team.run_parallel(requests).await;
    assert!(reports.iter().all(|report| report.as_ref().is_ok_and(|report| report.text() == "busy")));
    assert_eq!(*alive.lock(), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn a_handle_outlives_the_runtime_and_says_so() {
    let registry = chain(&[("a", 1)]);
    let team = team(&registry, 1);
    let handle = team.handle();
    assert_eq!(handle.find_agents(&[SkillId::new("a").unwrap()]).len(), 1);
    assert!(handle.run(way("a")).await.unwrap().is_success());
    drop(team);
    settle().await;
    let refused = handle.run(way("a").with_id("x")).await.unwrap();
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::ShuttingDown);
    assert_eq!((refused.task.as_str(), refused.attempt), ("x", 0));
    assert_eq!(handle.spawn(way("a")).await.unwrap().code(), Some(ErrorCode::ShuttingDown));
    assert_eq!(handle.run_parallel([way("a")]).await.len(), 1);
    assert!(handle.find_agents(&[]).is_empty());
    assert!(Scope::current().is_none());
}
