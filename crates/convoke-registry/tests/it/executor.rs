//! Executors and what they are given.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use convoke_core::{
    Budget, ErrorCode, ExecutorError, TaskId, TaskOutcome, TaskOutput, TaskReport, TaskRequest, TaskStatus,
};
use convoke_registry::{
    AgentExecutor, AnyExecutor, CancellationToken, ExecutorCapabilities, FunctionExecutor, TaskHandle,
};
use convoke_testkit::{Trial, conformance};

fn trial() -> Trial {
    Trial::new(TaskRequest::new("do it").with_id("t").in_session("s")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn functions_and_erased_executors_conform() {
    let function = FunctionExecutor::new(|request: TaskRequest, ctx| async move {
        tokio::select! {
            () = ctx.cancellation().cancelled() => Err(ExecutorError::cancelled()),
            () = sleep(Duration::from_secs(1)) => Ok(request.input),
        }
    });
    let all = ExecutorCapabilities::default().with_cooperative_cancellation().with_abort_on_cancel();
    let request = || TaskRequest::new("hello");
    conformance::agent_executor(&function, request).await;
    conformance::agent_executor(&function.clone().with_capabilities(all), request).await;
    conformance::agent_executor(&AnyExecutor::new(function.with_capabilities(all)), request).await;
}

#[tokio::test]
async fn a_function_may_return_a_text_an_output_or_an_outcome() {
    async fn said(executor: impl AgentExecutor) -> TaskOutcome {
        trial().call(&executor).await.unwrap()
    }
    assert_eq!(said(FunctionExecutor::new(|_, _| async { Ok("text") })).await, "text".into());
    let output =
        FunctionExecutor::new(|request: TaskRequest, _| async move { Ok(TaskOutput::text(request.input)) });
    assert_eq!(said(output).await, "do it".into());
    let outcome = FunctionExecutor::new(|_, _| async { Ok(TaskOutcome::blocked("no key")) });
    assert_eq!(said(outcome).await, TaskOutcome::blocked("no key"));
    let error = FunctionExecutor::new(|_, _| async { Ok("no number".parse::<u32>()?.to_string()) });
    assert_eq!(trial().call(&error).await.unwrap_err().code(), ErrorCode::ExecutionFailed);
}

#[test]
fn an_erased_executor_says_what_the_one_in_it_says() {
    let capabilities = ExecutorCapabilities::default().without_concurrent_execution().with_abort_on_cancel();
    let function = FunctionExecutor::new(|_, _| async { Ok("x") }).with_capabilities(capabilities);
    assert!(format!("{function:?}").starts_with("FunctionExecutor { capabilities"));
    let erased = AnyExecutor::new(function);
    assert_eq!(erased.capabilities(), capabilities);
    assert_eq!(AnyExecutor::new(erased.clone()).capabilities(), capabilities);
    assert_eq!(format!("{erased:?}"), format!("AnyExecutor({capabilities:?})"));
}

#[test]
fn an_executor_declares_nothing_but_concurrency_by_itself() {
    let capabilities = ExecutorCapabilities::default();
    assert!(capabilities.concurrent_execution);
    assert!(!capabilities.cooperative_cancellation && !capabilities.abort_on_cancel);
}

#[tokio::test(start_paused = true)]
async fn a_context_says_what_it_was_built_with() {
    let trial = trial();
    let bare = trial.context();
    assert_eq!((bare.agent().as_str(), bare.task().as_str(), bare.attempt()), ("agent", "t", 1));
    assert_eq!((bare.deadline(), bare.remaining_time(), bare.previous()), (None, None, None));
    assert!(bare.budget().is_none() && !bare.is_cancelled());
    bare.emit("to nobody");

    let token = CancellationToken::new();
    let report = TaskReport::new(TaskId::new("t").unwrap(), trial.session().id().clone(), TaskStatus::Failed);
    let deadline = Instant::now() + Duration::from_secs(5);
    let ctx = bare
        .with_cancellation(token.clone())
        .with_deadline(Some(deadline))
        .with_previous(Some(std::sync::Arc::new(report)))
        .with_budget(Some(Budget::builder().limit("calls", 3).build()));
    sleep(Duration::from_secs(2)).await;
    assert_eq!((ctx.deadline(), ctx.remaining_time()), (Some(deadline), Some(Duration::from_secs(3))));
    sleep(Duration::from_secs(9)).await;
    assert_eq!(ctx.remaining_time(), Some(Duration::ZERO));
    assert_eq!(ctx.previous().map(|report| report.status), Some(TaskStatus::Failed));
    assert_eq!(ctx.budget().unwrap().usage("calls").left(), Some(3));
    token.cancel();
    assert!(ctx.is_cancelled() && ctx.clone().is_cancelled());
    assert!(format!("{ctx:?}").starts_with("ExecutionContext { agent: AgentId(\"agent\"), task"));
}

#[tokio::test]
async fn progress_goes_to_the_handle_whose_driver_the_context_was_given() {
    let (mut handle, mut driver) = TaskHandle::new(TaskId::new("t").unwrap(), CancellationToken::new());
    let ctx = trial().context().with_progress(driver.progress());
    ctx.emit("half");
    let mut updates = handle.updates().unwrap();
    assert_eq!(updates.next().await.unwrap().text, "half");
    drop(ctx);
    assert_eq!(updates.next().await, None);
}
