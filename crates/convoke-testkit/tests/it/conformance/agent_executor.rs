//! The suite for executors.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use convoke_core::{Artifact, ExecutorError, TaskOutcome, TaskOutput, TaskRequest};
use convoke_registry::{
    AgentExecutor, AnyExecutor, ExecutionContext, ExecutorCapabilities, FunctionExecutor,
};
use convoke_testkit::{ScriptedExecutor, Step, conformance};

async fn check(executor: &impl AgentExecutor) {
    conformance::agent_executor(executor, || TaskRequest::new("do it")).await;
}

fn all_of_it() -> ExecutorCapabilities {
    ExecutorCapabilities::default().with_cooperative_cancellation().with_abort_on_cancel()
}

#[tokio::test(start_paused = true)]
async fn the_executors_that_ship_conform() {
    let function = FunctionExecutor::new(|request, ctx| async move {
        tokio::select! {
            () = ctx.cancellation().cancelled() => Err(ExecutorError::cancelled()),
            () = tokio::time::sleep(Duration::from_secs(1)) => Ok(request.input),
        }
    });
    check(&function).await;
    check(&function.clone().with_capabilities(all_of_it())).await;
    check(&AnyExecutor::new(function.with_capabilities(all_of_it()))).await;
    check(&ScriptedExecutor::echo().with_capabilities(all_of_it())).await;
    check(&ScriptedExecutor::answering(|_| Step::fail(ExecutorError::new("broken")))).await;
}

/// An executor that is checked to be called one at a time.
struct OneAtATime(AtomicBool);

impl AgentExecutor for OneAtATime {
    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities::default().without_concurrent_execution()
    }

    async fn execute(&self, _: TaskRequest, _: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
        assert!(!self.0.swap(true, Ordering::Relaxed), "two calls at the same time");
        tokio::task::yield_now().await;
        self.0.store(false, Ordering::Relaxed);
        Ok("done".into())
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_declare_concurrency_is_called_one_at_a_time() {
    check(&OneAtATime(AtomicBool::new(false))).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a call did not end within 10s")]
async fn one_that_never_ends_is_found() {
    check(&ScriptedExecutor::answering(|_| Step::never())).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "asked to stop before it began did not end")]
async fn one_that_only_claims_to_heed_a_stop_is_found() {
    let calls = AtomicUsize::new(0);
    let executor = ScriptedExecutor::answering(move |_| {
        // Ten calls are not stopped: two alone and eight together.
        if calls.fetch_add(1, Ordering::Relaxed) < 10 { Step::reply("done") } else { Step::never() }
    });
    check(&executor.with_capabilities(ExecutorCapabilities::default().with_cooperative_cancellation())).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "asked to stop midway did not end")]
async fn one_that_looks_at_the_stop_only_at_its_start_is_found() {
    let calls = AtomicUsize::new(0);
    let executor = FunctionExecutor::new(move |request: TaskRequest, ctx| {
        let is_disturbed = calls.fetch_add(1, Ordering::Relaxed) >= 10;
        async move {
            if is_disturbed && !ctx.is_cancelled() {
                std::future::pending::<()>().await;
            }
            Ok(request.input)
        }
    });
    check(&executor.with_capabilities(ExecutorCapabilities::default().with_cooperative_cancellation())).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "asked to stop before it began did not end within 1s")]
async fn one_that_is_deaf_and_ends_in_its_own_time_is_found() {
    let deaf = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(Duration::from_secs(9)));
    check(&deaf.with_capabilities(ExecutorCapabilities::default().with_cooperative_cancellation())).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "nobody asked it to")]
async fn one_that_claims_to_be_stopped_is_found() {
    check(&ScriptedExecutor::answering(|_| Step::reply(TaskOutcome::cancelled()))).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "gave artifact `a` more than once")]
async fn one_whose_output_no_session_takes_is_found() {
    let twice = || {
        let artifact = Artifact::text("a", "text").unwrap();
        TaskOutput::text("done").with_artifact(artifact.clone()).with_artifact(artifact)
    };
    check(&ScriptedExecutor::answering(move |_| Step::reply(twice()))).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "two calls at the same time")]
async fn one_that_breaks_when_called_twice_at_once_is_found() {
    let inner = OneAtATime(AtomicBool::new(false));
    let inner = std::sync::Arc::new(inner);
    check(&FunctionExecutor::new(move |request, ctx| {
        let inner = std::sync::Arc::clone(&inner);
        async move { inner.execute(request, ctx).await }
    }))
    .await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a call did not end")]
async fn one_that_does_not_survive_being_dropped_is_found() {
    let lock = std::sync::Arc::new(AtomicBool::new(false));
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let executor = FunctionExecutor::new(move |_, _| {
        let (lock, calls) = (std::sync::Arc::clone(&lock), std::sync::Arc::clone(&calls));
        async move {
            if calls.fetch_add(1, Ordering::Relaxed) >= 10 {
                while lock.swap(true, Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::task::yield_now().await;
                lock.store(false, Ordering::Relaxed);
            }
            Ok("done")
        }
    });
    check(&executor.with_capabilities(ExecutorCapabilities::default().with_abort_on_cancel())).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "capabilities change")]
async fn one_that_changes_its_mind_is_found() {
    struct Fickle(AtomicUsize);
    impl AgentExecutor for Fickle {
        fn capabilities(&self) -> ExecutorCapabilities {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => ExecutorCapabilities::default(),
                _ => ExecutorCapabilities::default().without_concurrent_execution(),
            }
        }

        async fn execute(&self, _: TaskRequest, _: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
            Ok("done".into())
        }
    }
    check(&Fickle(AtomicUsize::new(0))).await;
}
