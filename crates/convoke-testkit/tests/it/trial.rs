//! Trials: an attempt as a runtime gives it.

use convoke_core::{ExecutorError, Message, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::FunctionExecutor;
use convoke_testkit::{ScriptedExecutor, Trial};

#[tokio::test]
async fn the_input_is_in_the_session_and_the_output_after_it() {
    let request =
        TaskRequest::new("question").with_message(Message::user("more")).with_id("task").in_session("s");
    let mut trial = Trial::new(request).unwrap();
    let said = trial.call(&ScriptedExecutor::echo()).await;
    let report = trial.settle(said).unwrap();
    assert_eq!(
        (report.status, report.task.as_str(), report.session.as_str()),
        (TaskStatus::Completed, "task", "s")
    );
    let snapshot = trial.session().snapshot();
    let texts: Vec<_> = snapshot.messages().map(|message| message.message.text.as_str()).collect();
    assert_eq!(texts, ["question", "more", "question"]);
}

#[tokio::test]
async fn what_an_executor_says_is_the_status() {
    for (said, status) in [
        (Ok(TaskOutcome::completed("done")), TaskStatus::Completed),
        (Ok(TaskOutcome::input_required("which?")), TaskStatus::InputRequired),
        (Ok(TaskOutcome::blocked("no key")), TaskStatus::Blocked),
        (Ok(TaskOutcome::cancelled()), TaskStatus::Cancelled),
        (Ok(TaskOutcome::TimedOut { output: "part".into() }), TaskStatus::TimedOut),
        (Err(ExecutorError::new("broken")), TaskStatus::Failed),
        (Err(ExecutorError::cancelled()), TaskStatus::Cancelled),
    ] {
        let mut trial = Trial::new(TaskRequest::new("do it")).unwrap();
        assert_eq!(trial.settle(said).unwrap().status, status);
    }
}

#[tokio::test]
async fn a_write_after_the_end_is_counted() {
    let mut trial = Trial::new(TaskRequest::new("do it")).unwrap();
    let ctx = trial.context();
    trial
        .call(&FunctionExecutor::new(|_, ctx| async move {
            ctx.session().post(Message::agent("in time"))?;
            Ok("done")
        }))
        .await
        .unwrap();
    trial.settle(Ok("done".into())).unwrap();
    ctx.session().post(Message::agent("late")).unwrap_err();
    assert_eq!(trial.late_writes(), 1);
}

#[test]
fn an_answer_needs_a_pause() {
    let request = TaskRequest::new("").resuming(convoke_core::ResumeToken::new(1, ()), "yes");
    assert!(Trial::new(request).is_err());
}
