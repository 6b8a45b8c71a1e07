//! The scripted executor: each step does what it says.

use std::time::Duration;

use tokio::time::Instant;

use convoke_core::{ErrorCode, ExecutorError, ResumeToken, TaskOutcome, TaskRequest};
use convoke_testkit::{Gate, ScriptedExecutor, Step, Trial, dropped_after};

fn trial() -> Trial {
    Trial::new(TaskRequest::new("do it")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn steps_are_taken_in_their_order() {
    let token = ResumeToken::new(1, "here");
    let executor = ScriptedExecutor::new([
        Step::reply("done"),
        Step::fail(ExecutorError::new("broken")),
        Step::fail(std::io::Error::other("broken too")),
        Step::pause("which?"),
        Step::pause_with("which?", token.clone()),
        Step::call(|request, ctx| async move { Ok(format!("{} by {}", request.input, ctx.agent())) }),
    ]);
    let said = trial().call(&executor).await;
    assert_eq!(said.unwrap().output().text, "done");
    assert_eq!(trial().call(&executor).await.unwrap_err().code(), ErrorCode::ExecutionFailed);
    assert_eq!(trial().call(&executor).await.unwrap_err().as_error().unwrap().to_string(), "broken too");
    assert!(matches!(
        trial().call(&executor).await.unwrap(),
        TaskOutcome::InputRequired { resume: None, .. }
    ));
    let paused = trial().call(&executor).await.unwrap();
    assert!(matches!(paused, TaskOutcome::InputRequired { resume: Some(given), .. } if given == token));
    assert_eq!(trial().call(&executor).await.unwrap().output().text, "do it by agent");
    executor.assert_done();
    assert_eq!(executor.inputs(), ["do it"; 6]);
    assert_eq!((executor.calls(), executor.peak(), executor.running()), (6, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn waits_come_before_the_end_in_their_order() {
    let gate = Gate::closed();
    let second = Duration::from_secs(1);
    let step = Step::reply("done").after(&gate).after_delay(second).once_cancelled();
    let executor = ScriptedExecutor::new([step]);
    let trial = trial();
    let mut call = Box::pin(trial.call(&executor));
    assert!(dropped_after(1, &mut call).await.is_none());
    gate.open();
    let start = Instant::now();
    assert!(tokio::time::timeout(second * 5, &mut call).await.is_err(), "it waits to be asked to stop");
    trial.cancel();
    assert_eq!(call.await.unwrap().output().text, "done");
    assert_eq!(start.elapsed(), second * 5);
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_step_that_waits_for_a_stop_says_that_it_stopped() {
    let executor = ScriptedExecutor::new([Step::cancelled()]);
    let trial = trial();
    trial.cancel();
    assert_eq!(trial.call(&executor).await.unwrap_err().code(), ErrorCode::Cancelled);
}

#[tokio::test]
#[should_panic(expected = "on purpose")]
async fn a_step_that_panics_panics() {
    trial().call(&ScriptedExecutor::new([Step::panic("on purpose")])).await.ok();
}

#[tokio::test]
#[should_panic(expected = "1 steps of the script were not taken")]
async fn a_step_that_was_not_taken_is_told() {
    ScriptedExecutor::new([Step::never()]).assert_done();
}

#[tokio::test]
#[should_panic(expected = "1 calls found no step in the script")]
async fn a_call_without_a_step_is_told() {
    let executor = ScriptedExecutor::new([]);
    assert_eq!(trial().call(&executor).await.unwrap_err().code(), ErrorCode::ContractViolation);
    executor.assert_done();
}

#[tokio::test]
#[should_panic(expected = "1 calls still run")]
async fn a_call_that_runs_is_told() {
    let executor = ScriptedExecutor::answering(|_| Step::never());
    let trial = trial();
    let mut call = Box::pin(trial.call(&executor));
    assert!(dropped_after(1, &mut call).await.is_none());
    executor.called(1).await;
    executor.assert_done();
}

#[tokio::test]
async fn a_call_that_is_dropped_runs_no_more() {
    let executor = ScriptedExecutor::answering(|_| Step::never());
    assert!(dropped_after(1, trial().call(&executor)).await.is_none());
    assert_eq!((executor.calls(), executor.running(), executor.peak()), (1, 0, 1));
    executor.assert_done();
}
