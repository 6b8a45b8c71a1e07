//! Plans within plans.

use convoke_core::Scope;
use convoke_planning::{FunctionStepExecutor, PlanPolicy, PlanRunner, RunOptions, machine::StopReason};

use super::support::{Act, Script, ms, policy, runner};
use crate::fixtures::{plan, step};

#[tokio::test(start_paused = true)]
async fn a_plan_within_a_step_ends_with_it() {
    let script = Script::new().with("inner", [Act::Slow(ms(500))]);
    let inner = runner(&script, PlanPolicy::default());
    let executor = FunctionStepExecutor::new(move |_, _| {
        let inner = inner.clone();
        async move { Ok(inner.run_plan(plan([step("inner")])).await?.stop.to_string()) }
    });
    let outer = PlanRunner::builder().executor(executor).build().unwrap();
    let handle = outer.start(plan([step("outer")]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    assert!(!script.is_idle());
    handle.cancel();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, run.elapsed), (StopReason::Cancelled, ms(10)), "the inner run ended at once");
    assert!(script.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_plan_within_a_step_ends_before_its_deadline() {
    let script = Script::new().with("inner", [Act::Slow(ms(500))]);
    let inner = runner(&script, PlanPolicy::default());
    let executor = FunctionStepExecutor::new(move |_, _| {
        let inner = inner.clone();
        async move { Ok(inner.run_plan(plan([step("inner")])).await?.stop.to_string()) }
    });
    let outer =
        PlanRunner::builder().executor(executor).policy(policy(|policy| policy.step_timeout(ms(400))));
    let run = outer.build().unwrap().run_plan(plan([step("outer")])).await.unwrap();
    assert_eq!((run.stop, run.text("outer")), (StopReason::Completed, Some("run_timeout")));
    assert_eq!(run.elapsed, ms(350), "a grace before the deadline of the step");
}

#[tokio::test(start_paused = true)]
async fn a_step_works_in_the_scope_of_the_run() {
    let executor = FunctionStepExecutor::new(|_, ctx| async move {
        let current = Scope::current().unwrap();
        assert_eq!(current.deadline(), ctx.deadline());
        Ok(current.trace_id().unwrap().to_string())
    });
    let scope = Scope::root().with_trace_id(std::sync::Arc::from("trace"));
    let runner = PlanRunner::builder().executor(executor).policy(policy(|policy| policy.step_timeout(ms(9))));
    let runner = runner.build().unwrap();
    let run = runner.run_plan_with(plan([step("a")]), RunOptions::new().in_scope(scope)).await.unwrap();
    assert_eq!(run.text("a"), Some("trace"));
}
