//! Plans that an agent runs inside its own task.

use std::sync::Arc;

use convoke_core::{Budget, TaskRequest, TaskStatus, Units};
use convoke_planning::{PlanPolicy, PlanRunner, machine::StopReason};
use convoke_registry::{ExecutionContext, FunctionExecutor, RunOptions, TeamHandle};
use convoke_team_planning::TeamStepExecutor;
use convoke_testkit::{ScriptedExecutor, Step};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::house::{House, agent, ms, named, policy, registry, settle, step};

/// Runs a plan of three steps of agent `a`, two of them side by side, and says how that ended.
async fn by_plan(team: TeamHandle, policy: PlanPolicy) -> Result<String, convoke_core::ExecutorError> {
    let runner = PlanRunner::builder().executor(TeamStepExecutor::new(&team)).policy(policy).build()?;
    let steps = [step("one"), step("two"), step("three").after("one").after("two")];
    let run = runner.run_plan(named("inner", steps)).await?;
    Ok(format!("{}: {}", run.stop.as_str(), run.final_text()))
}

fn one_slot(worker: ScriptedExecutor) -> House {
    let house = House::built(registry([("a", worker)]), |builder| builder.max_parallel_tasks(1));
    let planner = FunctionExecutor::new(|_request: TaskRequest, ctx: ExecutionContext| {
        by_plan(ctx.team().clone(), policy(|policy| policy.max_parallel_steps(2)))
    });
    house.registry.add(agent("planner"), planner).unwrap();
    house
}

fn outer() -> TaskRequest {
    TaskRequest::new("do it").with_id("outer").in_session("s").preferring("planner")
}

#[tokio::test(start_paused = true)]
async fn one_slot_is_enough_for_a_plan_inside_an_agent() {
    let house = one_slot(ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(10))));
    let start = Instant::now();
    let report = timeout(ms(60_000), house.team.run(outer())).await.expect("it ends").unwrap();
    assert_eq!((report.text(), start.elapsed()), ("completed: done", ms(30)), "one after the other");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_the_host_is_recognised_inside_the_agent() {
    let worker = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(10)));
    let house = House::built(registry([("a", worker)]), |builder| builder.max_parallel_tasks(1));
    let captured = house.team.handle();
    let planner = FunctionExecutor::new(move |_request: TaskRequest, _ctx: ExecutionContext| {
        by_plan(captured.clone(), PlanPolicy::default())
    });
    house.registry.add(agent("planner"), planner).unwrap();
    let report = timeout(ms(60_000), house.team.run(outer())).await.expect("it ends").unwrap();
    assert_eq!(report.text(), "completed: done");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_step_that_needs_who_runs_its_plan_is_refused_and_does_not_hang() {
    let house = House::built(registry::<ScriptedExecutor>([]), |builder| builder.max_parallel_tasks(1));
    let planner = FunctionExecutor::new(|_request: TaskRequest, ctx: ExecutionContext| {
        by_plan(ctx.team().clone(), PlanPolicy::default())
    });
    house.registry.add(agent("a").with_max_concurrency(1), planner).unwrap();
    let request = TaskRequest::new("do it").preferring("a");
    let report = timeout(ms(60_000), house.team.run(request)).await.expect("it ends").unwrap();
    assert_eq!(report.text(), "blocked: ");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn aborting_the_outer_ends_the_inner() {
    let worker = ScriptedExecutor::answering(|_| Step::cancelled().once_cancelled());
    let house = one_slot(worker.clone());
    let handle = house.team.spawn_with(outer(), RunOptions::new());
    settle().await;
    assert_eq!(worker.running(), 1);
    handle.cancel();
    let report = handle.await.unwrap();
    assert!(matches!(report.status, TaskStatus::Completed | TaskStatus::Cancelled), "{report}");
    settle().await;
    assert_eq!((worker.running(), worker.calls()), (0, 1), "and the second step never began");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn what_is_inside_ends_before_the_deadline_of_what_is_outside() {
    let house = one_slot(ScriptedExecutor::answering(|_| Step::cancelled().once_cancelled()));
    let start = Instant::now();
    let report = house.team.run(outer().with_timeout(ms(400))).await.unwrap();
    assert!(start.elapsed() < ms(400), "{:?}", start.elapsed());
    assert!(report.text().starts_with("run_timeout"), "{report}: {}", report.text());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn budget_and_trace_of_the_outer_task_reach_the_steps_inside() {
    let traces = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&traces);
    let worker = FunctionExecutor::new(move |_request: TaskRequest, ctx: ExecutionContext| {
        let traces = Arc::clone(&telling);
        async move {
            traces.lock().push(ctx.scope().trace_id().map(ToString::to_string));
            ctx.budget().ok_or_else(|| std::io::Error::other("no budget"))?.charge(&Units::calls(1));
            Ok("done")
        }
    });
    let house = House::built(registry([("a", worker)]), |builder| builder);
    let planner = FunctionExecutor::new(|_request: TaskRequest, ctx: ExecutionContext| {
        by_plan(ctx.team().clone(), PlanPolicy::default())
    });
    house.registry.add(agent("planner"), planner).unwrap();
    let budget = Budget::builder().limit("calls", 10).build();
    let options = RunOptions::new().with_budget(budget.clone());
    let report = house.team.run_with(outer().with_trace_id("trace-1"), options).await.unwrap();
    assert_eq!(report.text(), "completed: done");
    assert_eq!(budget.usage("calls").committed, 3);
    assert_eq!(*traces.lock(), vec![Some("trace-1".to_owned()); 3]);
    assert_eq!(StopReason::Completed.as_str(), "completed");
}
