//! Panics of an executor, wherever they come from, are its own.

use std::{
    error::Error,
    fmt,
    panic::panic_any,
    pin::Pin,
    task::{Context, Poll},
};

use convoke_core::{ErrorCode, ExecutorError, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::{AgentExecutor, ExecutionContext, FunctionExecutor};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, task};

/// Runs one task on `executor` beside another agent's, and checks that only the one ends by a panic.
async fn check(executor: impl AgentExecutor) -> Option<String> {
    let gate = Gate::closed();
    let other = ScriptedExecutor::new([Step::reply("unharmed").after(&gate)]);
    let house = House::new(registry([(agent("other"), other)]));
    house.registry.add(agent("a"), executor).unwrap();
    let other = house.team.spawn(TaskRequest::new("x").preferring("other"));
    gate.arrived(1).await;

    let report = house.run(task("t").preferring("a")).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutorPanicked);
    let error = report.error.unwrap();
    assert_eq!(error.message(), "executor of agent `a` panicked");
    assert_eq!((report.detached, house.load("a")), (false, (0, 0)));
    assert_eq!(house.record("s", "t").status, TaskStatus::Failed);
    assert_eq!(house.events.names_of("t"), ["submitted", "selected", "started", "failed"]);

    gate.open();
    assert_eq!(other.await.unwrap().text(), "unharmed");
    house.assert_rest();
    error.detail().map(ToOwned::to_owned)
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_future() {
    let detail = check(ScriptedExecutor::new([Step::panic("own text")])).await;
    assert_eq!(detail.as_deref(), Some("own text"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_call_itself() {
    struct Sync;
    impl AgentExecutor for Sync {
        fn execute(
            &self,
            _: TaskRequest,
            _: ExecutionContext,
        ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send {
            assert!(!std::hint::black_box(true), "before the future");
            async { Ok("never".into()) }
        }
    }
    assert_eq!(check(Sync).await.as_deref(), Some("before the future"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_a_wait_with_a_formatted_text() {
    let executor = FunctionExecutor::new(|request: TaskRequest, _| async move {
        tokio::time::sleep(ms(5)).await;
        assert!(request.input != "do it", "cannot {}", request.input);
        Ok("never")
    });
    assert_eq!(check(executor).await.as_deref(), Some("cannot do it"));
}

/// A future that is ready at once, and panics when it is dropped.
struct Mine;

impl Future for Mine {
    type Output = Result<TaskOutcome, ExecutorError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok("done".into()))
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("in the destructor of the future");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_destructor_of_the_future() {
    struct Laying;
    impl AgentExecutor for Laying {
        fn execute(
            &self,
            _: TaskRequest,
            _: ExecutionContext,
        ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send {
            Mine
        }
    }
    assert_eq!(check(Laying).await.as_deref(), Some("in the destructor of the future"));
}

/// A payload whose destructor panics, with another one of its kind.
struct Russian(u32);

impl Drop for Russian {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Russian(self.0 - 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_payload_whose_destructor_panics() {
    let executor = FunctionExecutor::new(|request: TaskRequest, _| async move {
        if request.input == "do it" {
            panic_any(Russian(3));
        }
        Ok("never")
    });
    assert_eq!(check(executor).await, None);
}

/// An error that cannot say what it is.
#[derive(Debug)]
struct Mute;

impl fmt::Display for Mute {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in the text of the error");
    }
}

impl Error for Mute {}

#[tokio::test(start_paused = true)]
async fn an_error_whose_text_panics() {
    let executor = FunctionExecutor::new(|_, _| async { Err::<TaskOutcome, _>(Mute.into()) });
    assert_eq!(check(executor).await.as_deref(), Some("in the text of the error"));
}

/// An error whose destructor panics.
#[derive(Debug)]
struct Cursed;

impl fmt::Display for Cursed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cursed")
    }
}

impl Error for Cursed {}

impl Drop for Cursed {
    fn drop(&mut self) {
        panic!("in the destructor of the error");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_destructor_panics() {
    let executor = FunctionExecutor::new(|_, _| async { Err::<TaskOutcome, _>(Cursed.into()) });
    assert_eq!(check(executor).await.as_deref(), Some("in the destructor of the error"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_future_that_is_dropped_by_a_stop() {
    struct Waiting(Mine);
    impl Future for Waiting {
        type Output = Result<TaskOutcome, ExecutorError>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            let Self(Mine) = &*self;
            Poll::Pending
        }
    }
    let executor = FunctionExecutor::new(|_, _| Waiting(Mine));
    let capabilities = convoke_registry::ExecutorCapabilities::default().with_abort_on_cancel();
    let house = House::of(1, executor.with_capabilities(capabilities));
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutorPanicked);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_panics_among_many_loses_no_other() {
    let executor = ScriptedExecutor::answering(|request| match request.input.as_str() {
        "1" => Step::panic("broken"),
        other => Step::reply(other.to_owned()),
    });
    let house = House::of(4, executor);
    let answers = house.team.run_parallel((0..3).map(|number| TaskRequest::new(number.to_string()))).await;
    let ends: Vec<_> = answers.iter().map(|answer| answer.as_ref().unwrap().status).collect();
    assert_eq!(ends, [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Completed]);
}
