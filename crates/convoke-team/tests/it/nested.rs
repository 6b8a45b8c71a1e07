//! Work that asks for work: one slot is enough, and nothing hangs.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use convoke_core::{AgentDescriptor, ErrorCode, Scope, SkillId, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{AgentRegistry, Availability, ExecutionContext, FunctionExecutor, TeamHandle};
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

pub(crate) fn team(registry: &AgentRegistry, slots: usize) -> TeamRuntime {
    TeamRuntime::builder(registry.clone()).max_parallel_tasks(slots).build().unwrap()
}

pub(crate) fn text(report: &TaskReport) -> &str {
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
        let executor = FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
            let gate = gate.clone();
            async move {
                if request.input == "leaf" {
                    return Ok(ctx.agent().to_string());
                }
                gate.pass().await;
                let leaf = TaskRequest::new("leaf").requiring(other).with_id(format!("of {}", ctx.task()));
                let report = ctx.team().run(leaf).await?;
                Ok(report.error.as_ref().map_or(report.text().to_owned(), ToString::to_string))
            }
        });
        registry.add(AgentDescriptor::new(name).with_skill(name), executor).unwrap();
    }
    let team = team(&registry, 4);
    let one = team.spawn(TaskRequest::new("x").requiring("a").with_id("one").in_session("s"));
    let other = team.spawn(TaskRequest::new("x").requiring("b").with_id("other").in_session("s"));
    both_run.arrived(2).await;
    both_run.open();
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    // The first to ask waits for an agent whose task can end; with the second there is a circle, which ends as it is refused.
    assert_eq!(text(&one), "b");
    assert_eq!(
        text(&other),
        "wait could never end: task `of other` needs agent `a`, which task `one` has; task `one` awaits task `of one`; \
         task `of one` needs agent `b`, which task `other` has; task `other` awaits task `of other`; raise \
         `max_concurrency`, or let one of them not wait for the other (wait_cycle)"
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
pub(crate) fn with_outer<F, W>(outer: F) -> (AgentRegistry, Arc<Mutex<Option<TeamHandle>>>)
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

pub(crate) fn inner(id: &str) -> TaskRequest {
    TaskRequest::new("x").requiring("inner").with_id(id)
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
