//! Functions that block their thread.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::Poll,
    thread,
};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Runtime},
    task::spawn_blocking,
};

use convoke_core::{ErrorCode, ExecutorError, Scope, TaskOutcome, TaskOutput, TaskRequest};
use convoke_registry::{AgentExecutor, BlockingExecutor, ExecutorCapabilities};
use convoke_testkit::{Trial, conformance};

use crate::fixtures::poll_once;

fn trial() -> Trial {
    Trial::new(TaskRequest::new("do it").with_id("t")).unwrap()
}

/// An executor that says that it works, works until it is told how to end, and counts its calls.
struct Worker {
    calls: AtomicUsize,
    began: mpsc::SyncSender<()>,
    ends: Mutex<mpsc::Receiver<&'static str>>,
}

struct Controls {
    worker: Arc<Worker>,
    began: mpsc::Receiver<()>,
    end: mpsc::Sender<&'static str>,
}

fn worker() -> (impl AgentExecutor, Controls) {
    let (began, has_begun) = mpsc::sync_channel(9);
    let (end, ends) = mpsc::channel();
    let worker = Arc::new(Worker { calls: AtomicUsize::new(0), began, ends: Mutex::new(ends) });
    let own = Arc::clone(&worker);
    let executor = BlockingExecutor::new(move |_, _| {
        own.calls.fetch_add(1, Ordering::SeqCst);
        own.began.send(())?;
        Ok(own.ends.lock().recv()?)
    });
    (executor, Controls { worker, began: has_begun, end })
}

impl Controls {
    fn calls(&self) -> usize {
        self.worker.calls.load(Ordering::SeqCst)
    }
}

/// A runtime whose pool has one thread.
fn narrow() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).enable_time().build().unwrap()
}

#[tokio::test]
async fn blocking_functions_conform() {
    let echo = BlockingExecutor::new(|request, ctx| {
        if ctx.is_cancelled() {
            return Err(ExecutorError::cancelled());
        }
        Ok(request.input)
    });
    conformance::agent_executor(&echo, || TaskRequest::new("hello")).await;
    let all = ExecutorCapabilities::default().with_cooperative_cancellation();
    conformance::agent_executor(&echo.with_capabilities(all), || TaskRequest::new("hello")).await;
}

#[tokio::test]
async fn a_blocking_function_says_a_text_an_output_an_outcome_or_an_error() {
    async fn said(executor: impl AgentExecutor) -> Result<TaskOutcome, ExecutorError> {
        trial().call(&executor).await
    }
    assert_eq!(said(BlockingExecutor::new(|_, _| Ok("text"))).await.unwrap(), "text".into());
    let output = BlockingExecutor::new(|request, _| Ok(TaskOutput::text(request.input)));
    assert_eq!(said(output).await.unwrap(), "do it".into());
    let outcome = BlockingExecutor::new(|_, ctx| Ok(TaskOutcome::blocked(ctx.task().as_str())));
    assert_eq!(said(outcome).await.unwrap(), TaskOutcome::blocked("t"));
    let error = BlockingExecutor::new(|_, _| Ok("no number".parse::<u32>()?.to_string()));
    assert_eq!(said(error).await.unwrap_err().code(), ErrorCode::ExecutionFailed);
}

#[tokio::test]
async fn it_leaves_the_thread_of_its_caller() {
    let caller = thread::current().id();
    let executor = BlockingExecutor::new(move |_, _| {
        assert_ne!(thread::current().id(), caller);
        Ok("elsewhere")
    });
    assert_eq!(trial().call(&executor).await.unwrap(), "elsewhere".into());
}

#[tokio::test]
async fn its_thread_is_in_the_scope_of_the_attempt_and_leaves_it_again() {
    let task = || Scope::current().and_then(|scope| Some(scope.lineage().next()?.task.to_string()));
    let executor = BlockingExecutor::new(move |_, _| Ok(task().unwrap_or_default()));
    assert_eq!(trial().call(&executor).await.unwrap(), "t".into());
    assert_eq!(spawn_blocking(task).await.unwrap(), None);
}

#[test]
fn it_never_declares_that_its_future_may_be_dropped() {
    let wanted = ExecutorCapabilities::default()
        .with_cooperative_cancellation()
        .without_concurrent_execution()
        .with_abort_on_cancel();
    let executor = BlockingExecutor::new(|_, _| Ok("x")).with_capabilities(wanted);
    let said = executor.clone().capabilities();
    assert!(said.cooperative_cancellation && !said.concurrent_execution && !said.abort_on_cancel);
    assert_eq!(
        format!("{executor:?}"),
        format!("BlockingExecutor {{ capabilities: {:?}, .. }}", executor.capabilities())
    );
}

#[tokio::test]
async fn a_panic_of_the_function_is_a_panic_of_its_caller() {
    let executor = BlockingExecutor::new(|request: TaskRequest, _| -> Result<String, _> {
        panic!("cannot {}", request.input)
    });
    let payload = AssertUnwindSafe(trial().call(&executor)).catch_unwind().await.unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().unwrap(), "cannot do it");
}

#[tokio::test]
async fn a_stop_is_seen_by_the_function_and_ends_nothing_by_itself() {
    let (executor, controls) = worker();
    let trial = trial();
    let mut call = Box::pin(trial.call(&executor));
    assert!(poll_once(&mut call).is_pending());
    controls.began.recv().unwrap();
    trial.cancel();
    for _ in 0..3 {
        assert!(poll_once(&mut call).is_pending(), "the future ended before the function");
    }
    controls.end.send("after all").unwrap();
    assert_eq!(call.await.unwrap(), "after all".into());
}

#[test]
fn a_call_that_is_stopped_while_it_waits_for_a_thread_ends_at_once_and_calls_nothing() {
    let runtime = narrow();
    let (executor, controls) = worker();
    runtime.block_on(async {
        let (first, second) = (trial(), trial());
        let mut working = Box::pin(first.call(&executor));
        assert!(poll_once(&mut working).is_pending());
        controls.began.recv().unwrap();

        let mut waiting = Box::pin(second.call(&executor));
        assert!(poll_once(&mut waiting).is_pending());
        second.cancel();
        let Poll::Ready(said) = poll_once(&mut waiting) else { panic!("it waits") };
        assert_eq!(said.unwrap_err().code(), ErrorCode::Cancelled);

        controls.end.send("done").unwrap();
        assert_eq!(working.await.unwrap(), "done".into());
    });
    drop(runtime);
    assert_eq!(controls.calls(), 1);
}

#[test]
fn a_future_that_is_dropped_before_the_function_began_calls_nothing() {
    let runtime = narrow();
    let (executor, controls) = worker();
    runtime.block_on(async {
        let (first, second) = (trial(), trial());
        let mut working = Box::pin(first.call(&executor));
        assert!(poll_once(&mut working).is_pending());
        controls.began.recv().unwrap();

        let mut waiting = Box::pin(second.call(&executor));
        assert!(poll_once(&mut waiting).is_pending());
        drop(waiting);
        controls.end.send("done").unwrap();
        assert_eq!(working.await.unwrap(), "done".into());
    });
    // Runs what is queued, so that a call of the dropped one would be counted, and end.
    controls.end.send("unwanted").unwrap();
    runtime.block_on(async { spawn_blocking(|| ()).await }).unwrap();
    assert_eq!(controls.calls(), 1);
}

#[test]
fn a_future_that_is_dropped_while_the_function_works_does_not_stop_it() {
    let runtime = narrow();
    let (executor, controls) = worker();
    let trial = trial();
    let guard = runtime.enter();
    let mut call = Box::pin(trial.call(&executor));
    assert!(poll_once(&mut call).is_pending());
    controls.began.recv().unwrap();
    drop(call);
    assert!(controls.end.send("unheard").is_ok(), "the function is gone");
    drop(guard);
}

#[test]
fn a_call_after_the_end_of_the_tokio_runtime_is_an_error() {
    let runtime = narrow();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let (executor, controls) = worker();
    let trial = trial();
    let guard = handle.enter();
    let Poll::Ready(said) = poll_once(&mut Box::pin(trial.call(&executor))) else { panic!("it waits") };
    let error = said.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ExecutionFailed);
    assert_eq!(
        error.as_error().unwrap().to_string(),
        "tokio runtime ended before the blocking function began"
    );
    assert_eq!(controls.calls(), 0);
    drop(guard);
}
