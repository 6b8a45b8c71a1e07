//! What an executor must hold.

use std::time::Duration;

use futures_util::future::join_all;

use convoke_core::{ErrorCode, ExecutorError, TaskOutcome, TaskRequest};
use convoke_registry::AgentExecutor;

use crate::{Trial, dropped_after};

/// How many calls run at the same time, where that is allowed.
const CONCURRENT_CALLS: usize = 8;

/// How long a call may take, on tokio's clock.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a call that is asked to stop may go on, on tokio's clock: far less, or it has not heeded it.
const SOON: Duration = Duration::from_secs(1);

/// Checks what an executor says about itself against what it does.
///
/// `request` makes requests that the executor can finish within ten seconds of tokio's clock when nobody stops it; a
/// test that pauses that clock waits for none of them.
///
/// - It says the same about itself each time.
/// - A call ends, with an outcome or an error, says nothing of being stopped, and what it says can be settled; a second
///   call does too.
/// - Where it declares `concurrent_execution`: eight calls at the same time end like that.
/// - Where it declares `cooperative_cancellation`: a call that is asked to stop ends within a second, whether it is asked
///   before it begins or midway. Give requests that take longer than that, or a deaf executor is not found out.
/// - Where it declares `abort_on_cancel`: a call that was dropped midway leaves the next one unharmed.
///
/// ```
/// use convoke_core::TaskRequest;
/// use convoke_registry::FunctionExecutor;
/// use convoke_testkit::conformance;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
/// conformance::agent_executor(&echo, || TaskRequest::new("hello")).await;
/// # }
/// ```
///
/// # Panics
///
/// Where the executor does not hold one of these, and where it panics.
pub async fn agent_executor(executor: &impl AgentExecutor, request: impl Fn() -> TaskRequest) {
    let capabilities = executor.capabilities();
    assert_eq!(capabilities, executor.capabilities(), "capabilities change from call to call");

    for _ in 0..2 {
        undisturbed(executor, request()).await;
    }
    if capabilities.concurrent_execution {
        join_all((0..CONCURRENT_CALLS).map(|_| undisturbed(executor, request()))).await;
    }
    if capabilities.cooperative_cancellation {
        let trial = trial(request());
        trial.cancel();
        in_time("a call that was asked to stop before it began", SOON, trial.call(executor)).await.ok();
        stopped_midway(executor, request()).await;
    }
    if capabilities.abort_on_cancel {
        dropped_after(1, trial(request()).call(executor)).await;
        undisturbed(executor, request()).await;
    }
}

/// A call that nobody stops.
async fn undisturbed(executor: &impl AgentExecutor, request: TaskRequest) {
    let mut trial = trial(request);
    let said = in_time("a call", PATIENCE, trial.call(executor)).await;
    assert!(!is_stopped(&said), "a call says that it was stopped, and nobody asked it to: {said:?}");
    let refused = trial.settle(said).err().map(|refused| refused.to_string());
    assert!(refused.is_none(), "what a call said cannot be settled: {}", refused.unwrap_or_default());
}

async fn stopped_midway(executor: &impl AgentExecutor, request: TaskRequest) {
    let trial = trial(request);
    let mut call = Box::pin(trial.call(executor));
    if dropped_after(1, &mut call).await.is_none() {
        trial.cancel();
        in_time("a call that was asked to stop midway", SOON, call).await.ok();
    }
}

fn trial(request: TaskRequest) -> Trial {
    match Trial::new(request) {
        Ok(trial) => trial,
        Err(error) => unusable(&error),
    }
}

#[expect(clippy::panic, reason = "a suite tells what is wrong by a panic")]
fn unusable(error: &dyn std::error::Error) -> ! {
    panic!("the suite was given a request that cannot be admitted: {error}")
}

fn is_stopped(said: &Result<TaskOutcome, ExecutorError>) -> bool {
    match said {
        Ok(outcome) => matches!(outcome, TaskOutcome::Cancelled { .. }),
        Err(error) => error.code() == ErrorCode::Cancelled,
    }
}

#[expect(clippy::panic, reason = "a suite tells what is wrong by a panic")]
async fn in_time<T>(what: &str, patience: Duration, call: impl Future<Output = T>) -> T {
    match tokio::time::timeout(patience, call).await {
        Ok(said) => said,
        Err(elapsed) => panic!("{what} did not end within {patience:?}: {elapsed}"),
    }
}
