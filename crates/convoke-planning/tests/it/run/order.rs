//! What runs when.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use convoke_core::TaskOutput;
use convoke_planning::{
    CompositeStepExecutor, FunctionPlanner, FunctionStepExecutor, IssueCode, KnownTool, PlanDraft, PlanError,
    PlanPolicy, PlanRunner, PrioritySignals, StepContext, StepDraft, StepReport, StepStatus,
    machine::{Capabilities, StepInput, StopReason},
};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::support::{Act, Script, ms, policy, runner, standing, with};
use crate::fixtures::{draft, plan, step};

#[tokio::test(start_paused = true)]
async fn a_step_runs_after_those_it_waits_for_and_the_last_one_is_the_output() {
    let script = Script::new();
    let steps = [step("second").input_from("first"), step("first")];
    let run = runner(&script, PlanPolicy::default()).run_plan(plan(steps)).await.unwrap();

    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(script.order(), ["first", "second"]);
    assert_eq!(run.final_text(), "did second");
    assert_eq!((run.executed, run.completed, run.failed), (2, 2, 0));
    assert_eq!(script.seen()[1].input.data, Some(json!({"steps": {"first": "did first"}})));
    assert_eq!(script.seen()[1].key, "plan/second/0");
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_plan_with_errors_runs() {
    let script = Script::new();
    let planner = FunctionPlanner::new(|_| async {
        Ok(draft([
            step("good"),
            step("a").after("c"),
            step("b").after("a"),
            step("c").input_from("b"),
            step("twin").with_tool("search").with_input("no JSON"),
            step("twin"),
        ]))
    });
    let runner = with(&script, PlanPolicy::default(), |builder| {
        builder.planner(planner).tools([KnownTool::new("search")])
    });
    let error = runner.run("goal").await.unwrap_err();

    let PlanError::Invalid(invalid) = error else { panic!("{error:?}") };
    let told: Vec<_> = invalid.issues().iter().map(|issue| (issue.code, issue.position)).collect();
    assert_eq!(
        told,
        [
            (IssueCode::InvalidToolInput, Some(4)),
            (IssueCode::DuplicateStepId, Some(5)),
            (IssueCode::DependencyCycle, Some(1)),
        ],
        "{invalid}"
    );
    let path: Vec<_> = invalid.issues()[2].path.iter().map(convoke_core::StepId::as_str).collect();
    assert_eq!(path, ["a", "c", "b"]);
    assert_eq!(script.order(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_planner_makes_the_plan() {
    let script = Script::new();
    let planner = FunctionPlanner::new(|request| async move {
        Ok(PlanDraft::new(request.goal).with_step(StepDraft::new("a").titled(request.context)))
    });
    let runner = with(&script, PlanPolicy::default(), |builder| builder.planner(planner));
    let request = convoke_planning::PlanningRequest::new("goal").with_context("context");
    let run = runner.run(request).await.unwrap();

    assert_eq!(run.plan.goal(), "goal");
    assert_eq!(run.plan.steps()[0].title, "context");
    assert_eq!(run.stop, StopReason::Completed);
}

#[tokio::test]
async fn a_goal_needs_a_planner() {
    let error = runner(&Script::new(), PlanPolicy::default()).run("goal").await.unwrap_err();
    assert!(matches!(error, PlanError::NoPlanner), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn siblings_do_not_wait_for_each_other() {
    let script = Script::new()
        .with("long", [Act::Slow(ms(300))])
        .with("b", [Act::Slow(ms(100))])
        .with("c", [Act::Slow(ms(100))])
        .with("d", [Act::Slow(ms(100))]);
    let steps = [step("long"), step("b"), step("c").after("b"), step("d").after("c")];
    let begun = Instant::now();
    let run =
        runner(&script, policy(|policy| policy.max_parallel_steps(2))).run_plan(plan(steps)).await.unwrap();

    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(begun.elapsed(), ms(300));
    assert_eq!(run.elapsed, ms(300));
}

#[tokio::test(start_paused = true)]
async fn a_serial_executor_holds_up_nobody_but_itself() {
    let serial = || Capabilities::new().serial("db");
    let mut script = Script::new();
    for id in ["p1", "p2", "p3", "s1", "s2"] {
        script = script.with(id, [Act::Slow(ms(50))]);
    }
    let script = script.able("s1", serial()).able("s2", serial());
    let steps = [step("s1"), step("s2"), step("p1"), step("p2"), step("p3")];
    let begun = Instant::now();
    let run =
        runner(&script, policy(|policy| policy.max_parallel_steps(4))).run_plan(plan(steps)).await.unwrap();

    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(begun.elapsed(), ms(100));
    assert_eq!((script.most_at_once("p"), script.most_at_once("s")), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_the_policy_says() {
    let mut script = Script::new();
    let ids: Vec<_> = (0..20).map(|n| format!("x{n}")).collect();
    for id in &ids {
        script = script.with(id, [Act::Slow(ms(10))]);
    }
    let run = runner(&script, policy(|policy| policy.max_parallel_steps(3)))
        .run_plan(plan(ids.iter().map(step)))
        .await
        .unwrap();

    assert_eq!((run.completed, script.most_at_once("x")), (20, 3));
    assert_eq!(run.elapsed, ms(70));
}

/// What a plan comes to of which the steps end in this order: its text, what the last one was given, and all steps.
async fn ended_in(order: &[usize]) -> (String, StepInput, Vec<StepReport>) {
    let name = |n: usize| format!("s{n}");
    let script = order.iter().enumerate().fold(Script::new(), |script, (place, n)| {
        script.with(&name(*n), [Act::Slow(ms(10 * (place as u64 + 1)))])
    });
    let ids: Vec<_> = (0..order.len()).map(name).collect();
    let steps = ids.iter().map(step).chain([ids.iter().fold(step("all"), StepDraft::input_from)]);
    let run = runner(&script, policy(|policy| policy.max_parallel_steps(20)));
    let run = run.run_plan(plan(steps)).await.unwrap();
    (run.final_text(), script.seen().last().unwrap().input.clone(), standing(&run))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_in_which_steps_end_changes_no_result(order in Just((0..20).collect::<Vec<_>>()).prop_shuffle()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let (as_planned, other) = runtime.unwrap().block_on(async {
            (ended_in(&(0..20).collect::<Vec<_>>()).await, ended_in(&order).await)
        });
        prop_assert_eq!(as_planned, other);
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_starts_goes_to_what_matters() {
    let signals = |priority| PrioritySignals::new().with_priority(priority);
    let script = Script::new();
    let steps = [step("a").with_signals(signals(1.0)), step("b").with_signals(signals(2.0))];
    let run = runner(&script, policy(|policy| policy.steps_per_run(1))).run_plan(plan(steps)).await.unwrap();

    assert_eq!((run.stop, script.order()), (StopReason::StepBudget, vec!["b".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_scorer_decides_what_is_first() {
    let script = Script::new();
    let runner = with(&script, PlanPolicy::default(), |builder| {
        builder.scorer(
            |_: &convoke_planning::Plan, step: &convoke_planning::PlanStep| {
                if step.id.as_str() == "b" { 1.0 } else { 0.0 }
            },
        )
    });
    runner.run_plan(plan([step("a"), step("b")])).await.unwrap();
    assert_eq!(script.order(), ["b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_nobody_takes_is_blocked() {
    let executor = CompositeStepExecutor::builder()
        .otherwise(FunctionStepExecutor::new(|input, _| async move { Ok(input.text) }))
        .build()
        .unwrap();
    let runner = PlanRunner::builder().executor(executor).build().unwrap();
    let run = runner.run_plan(plan([step("a").by_agent("writer"), step("b").with_input("x")])).await.unwrap();

    assert_eq!(run.stop, StopReason::Blocked);
    assert_eq!(run.step("a").unwrap().status, StepStatus::Blocked);
    assert!(run.error.unwrap().message.contains("`a`"));
}

#[tokio::test(start_paused = true)]
async fn a_step_sees_what_had_come_of_others_when_it_was_dispatched() {
    let artifact = convoke_core::Artifact::text("notes", "seen").unwrap();
    let executor = FunctionStepExecutor::new(move |_, ctx| {
        let artifact = artifact.clone();
        async move {
            Ok(match ctx.step().id.as_str() {
                "a" => TaskOutput::text("a").with_artifact(artifact),
                "late" => {
                    // Meanwhile another one ends.
                    tokio::time::sleep(ms(10)).await;
                    let seen = ctx.output("quick").is_some();
                    TaskOutput::text(format!("{seen} {}", ctx.artifact("a", "notes").unwrap().text))
                }
                other => TaskOutput::text(other),
            })
        }
    });
    let runner =
        PlanRunner::builder().executor(executor).policy(policy(|policy| policy.max_parallel_steps(2)));
    let steps = [step("a"), step("late").after("a"), step("quick").after("a")];
    let run = runner.build().unwrap().run_plan(plan(steps)).await.unwrap();
    assert_eq!(run.text("late"), Some("false seen"));
    assert_eq!(
        run.artifacts().map(|(step, artifact)| (step.as_str(), artifact.id.as_str())).collect::<Vec<_>>(),
        [("a", "notes")]
    );
}

#[tokio::test(start_paused = true)]
async fn inline_steps_run_like_spawned_ones() {
    let inline = || Capabilities::new().inline();
    let script = Script::new()
        .able("a", inline())
        .able("b", inline())
        .able("c", inline())
        .with("a", [Act::Slow(ms(5))])
        .with("b", [Act::Panics]);
    let steps = [step("a"), step("b"), step("c").after("a")];
    let run = runner(&script, policy(|policy| policy.max_parallel_steps(2).continue_after_failure()));
    let run = run.run_plan(plan(steps)).await.unwrap();
    assert_eq!(run.text("c"), Some("did c"));
    assert_eq!(run.step("b").unwrap().error.as_ref().unwrap().message, "executor panicked: b panics");
}

#[tokio::test]
async fn an_inline_step_that_yields_lets_the_runtime_have_its_turn() {
    let executor = FunctionStepExecutor::new(|_, _| async {
        let other = tokio::spawn(async {});
        tokio::task::yield_now().await;
        Ok(other.is_finished().to_string())
    });
    let executor = executor.with_capabilities(Capabilities::new().inline());
    let runner = PlanRunner::builder().executor(executor).build().unwrap();
    let run = runner.run_plan(plan([step("a"), step("b").after("a")])).await.unwrap();
    assert_eq!((run.text("a"), run.text("b")), (Some("true"), Some("true")));
}

#[tokio::test]
async fn what_ends_in_a_task_is_heard_while_inline_steps_follow_each_other() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let does = |placement: Capabilities| {
        let order = Arc::clone(&order);
        let executor = FunctionStepExecutor::new(move |_, ctx: StepContext| {
            order.lock().unwrap().push(ctx.step().id.to_string());
            async { Ok("done") }
        });
        executor.with_capabilities(placement)
    };
    let executor = CompositeStepExecutor::builder()
        .agents(does(Capabilities::new()))
        .otherwise(does(Capabilities::new().inline()));
    let chain = (0..1_000).map(|place| match place {
        0 => step("c0"),
        _ => step(format!("c{place}")).after(format!("c{}", place - 1)),
    });
    let steps = [step("spawned").by_agent("writer"), step("next").after("spawned")].into_iter().chain(chain);
    let runner = PlanRunner::builder()
        .executor(executor.build().unwrap())
        .policy(policy(|policy| policy.max_parallel_steps(2)));
    assert_eq!(runner.build().unwrap().run_plan(plan(steps)).await.unwrap().stop, StopReason::Completed);
    let order = order.lock().unwrap();
    let place = |of: &str| order.iter().position(|step| step == of).unwrap();
    assert!(place("next") < place("c999"), "{} of {}", place("next"), order.len());
}

#[tokio::test(start_paused = true)]
async fn steps_at_work_have_a_task_each_and_none_outlives_the_run() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let most = Arc::new(AtomicUsize::new(0));
    let executor = FunctionStepExecutor::new({
        let most = Arc::clone(&most);
        move |_, _| {
            let most = Arc::clone(&most);
            async move {
                tokio::time::sleep(ms(1)).await;
                most.fetch_max(alive(), Ordering::Relaxed);
                Ok("done")
            }
        }
    });
    let runner =
        PlanRunner::builder().executor(executor).policy(policy(|policy| policy.max_parallel_steps(3)));
    let run = runner.build().unwrap().run_plan(plan((0..12).map(|i| step(format!("s{i}"))))).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    // The run has one for itself and one that waits for the word to end it.
    assert_eq!(most.load(Ordering::Relaxed), 3 + 2);
    tokio::time::sleep(ms(1)).await;
    assert_eq!(alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_score_that_orders_nothing_ends_the_run_and_names_the_step() {
    let script = Script::new();
    let runner = with(&script, PlanPolicy::default(), |builder| {
        builder.scorer(
            |_: &convoke_planning::Plan, step: &convoke_planning::PlanStep| {
                if step.id.as_str() == "b" { f64::NAN } else { 0.0 }
            },
        )
    });
    let run = runner.run_plan(plan([step("a"), step("b").after("a"), step("c").after("b")])).await.unwrap();
    let error = run.error.unwrap();
    assert_eq!((run.stop, script.order()), (StopReason::InvalidScore, vec!["a".to_owned()]));
    assert_eq!(error.step.unwrap().as_str(), "b");
}
