//! What an executor is given.

use serde_json::json;

use convoke_core::{Budget, ExecutorError, TaskRequest, Units};
use convoke_registry::{ExecutionContext, RunOptions};
use convoke_team::TeamRuntime;
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, agent, ms, registry, task};

#[tokio::test(start_paused = true)]
async fn an_executor_knows_who_it_is_and_what_went_before() {
    let step = |attempt: u32| {
        Step::call(move |request: TaskRequest, ctx: ExecutionContext| async move {
            assert_eq!((ctx.agent().as_str(), ctx.task().as_str(), ctx.attempt()), ("a", "t", attempt));
            assert_eq!((ctx.session().session_id().as_str(), ctx.session().attempt()), ("s", attempt));
            assert_eq!(ctx.previous().map(|report| report.attempt), (attempt > 1).then(|| attempt - 1));
            assert!(!ctx.is_cancelled());
            assert_eq!(request.data, Some(json!({ "chapter": attempt })));
            Err::<&str, _>(ExecutorError::new("once more"))
        })
    };
    let house = House::of(1, ScriptedExecutor::new([step(1), step(2), step(3)]));
    for attempt in 1..4 {
        let report = house.run(task("t").with_json(&json!({ "chapter": attempt }))).await;
        assert_eq!(report.error.unwrap().detail(), Some("once more"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_request_comes_as_it_was_sent_with_its_ids() {
    let executor = ScriptedExecutor::echo();
    let house = House::new(registry([(agent("a").with_skill("x"), executor.clone())]));
    let request = TaskRequest::new("x").requiring("x").with_metadata("ticket", 7).with_trace_id("trace-1");
    let report = house.run(request.clone()).await;
    let given = executor.requests().pop().unwrap();
    assert_eq!((given.id, given.session), (Some(report.task), Some(report.session)));
    assert_eq!((given.input, given.required_skills), (request.input, request.required_skills));
    assert_eq!((given.metadata, given.trace_id), (request.metadata, request.trace_id));
}

#[tokio::test(start_paused = true)]
async fn the_input_stands_in_the_session_when_the_work_starts() {
    let step = Step::call(|_, ctx| async move {
        let snapshot = ctx.session().snapshot();
        Ok(snapshot.messages().map(|message| message.id.to_string()).collect::<Vec<_>>().join(" "))
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert_eq!(house.run(task("t")).await.text(), "t/1/input");
}

#[tokio::test(start_paused = true)]
async fn the_grace_is_that_of_the_runtime() {
    let executor = ScriptedExecutor::answering(|_| {
        Step::call(|_, ctx: ExecutionContext| async move { Ok(format!("{:?}", ctx.grace())) })
    });
    let registry = registry([(agent("a"), executor)]);
    assert_eq!(House::new(registry.clone()).run(task("t")).await.text(), "50ms");
    let house = House::built(registry, |builder| builder.grace(ms(7)));
    assert_eq!(house.run(task("t")).await.text(), "7ms");
}

fn spending() -> ScriptedExecutor {
    ScriptedExecutor::answering(|_| {
        Step::call(|_, ctx: ExecutionContext| async move {
            let Some(budget) = ctx.budget() else { return Ok("no budget") };
            let mut reservation = budget.reserve(Units::calls(1))?;
            reservation.sent();
            reservation.settle(&Units::calls(1));
            Ok("spent")
        })
    })
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_that_of_the_call_or_else_that_of_the_runtime() {
    let house = House::of(1, spending());
    assert_eq!(house.run(TaskRequest::new("x")).await.text(), "no budget");

    let (all, own) =
        (Budget::builder().limit("calls", 2).build(), Budget::builder().limit("calls", 1).build());
    let registry = registry([(agent("a"), spending())]);
    let team = TeamRuntime::builder(registry).budget(all.clone()).build().unwrap();
    team.run_with(TaskRequest::new("x"), RunOptions::new().with_budget(own.clone())).await.unwrap();
    assert_eq!((all.usage("calls").committed, own.usage("calls").committed), (0, 1));
    for _ in 0..2 {
        assert!(team.run(TaskRequest::new("x")).await.unwrap().is_success());
    }
    let report = team.run(TaskRequest::new("x")).await.unwrap();
    assert_eq!(report.code(), Some(convoke_core::ErrorCode::BudgetExhausted));
    assert_eq!(all.usage("calls").committed, 2);
}

#[tokio::test(start_paused = true)]
async fn the_request_names_its_task_also_under_a_generated_id() {
    let executor = ScriptedExecutor::answering(|request| {
        let asks = request.input == "outer";
        Step::call(move |request, ctx| async move {
            assert_eq!(request.id.as_ref(), Some(ctx.task()));
            assert_eq!(request.session.as_ref(), Some(ctx.session().session_id()));
            if asks {
                let nested = ctx.team().run(TaskRequest::new("inner")).await?;
                ctx.team().spawn(TaskRequest::new("inner")).await?;
                ctx.team().run_parallel([TaskRequest::new("inner")]).await;
                assert_ne!(nested.task, *ctx.task());
            }
            Ok("done")
        })
    });
    let house = House::of(2, executor.clone());
    let request = || TaskRequest::new("outer");
    let mut reports = vec![house.run(request()).await, house.team.spawn(request()).await.unwrap()];
    reports.extend(crate::house::reports(house.team.run_parallel([request()]).await));
    let asked: Vec<_> = executor.requests().into_iter().filter(|request| request.input == "outer").collect();
    for (report, request) in reports.iter().zip(asked) {
        assert!(report.is_success(), "{report}");
        assert_eq!(request.id.as_ref(), Some(&report.task));
    }
    assert_eq!(executor.calls(), 12);
}
