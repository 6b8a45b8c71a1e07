//! The handle of a task, and the end of it that whoever runs the task keeps.

use convoke_core::{SessionId, TaskId, TaskReport, TaskStatus};
use convoke_registry::{CancellationToken, TaskDriver, TaskHandle, TeamError};
use convoke_testkit::dropped_after;

fn handle() -> (TaskHandle, TaskDriver) {
    TaskHandle::new(TaskId::new("t").unwrap(), CancellationToken::new())
}

fn report(status: TaskStatus) -> TaskReport {
    TaskReport::new(TaskId::new("t").unwrap(), SessionId::new("s").unwrap(), status)
}

#[tokio::test]
async fn a_handle_is_a_future_of_the_answer() {
    let (mut handle, driver) = handle();
    assert_eq!((handle.task(), driver.task()), (driver.task(), handle.task()));
    assert!(dropped_after(1, &mut handle).await.is_none());
    driver.answer(Ok(report(TaskStatus::Completed)));
    assert_eq!(handle.await.unwrap().status, TaskStatus::Completed);
}

#[tokio::test]
async fn a_driver_that_is_dropped_tells_that_the_task_was_lost() {
    let (handle, driver) = handle();
    driver.set_status(TaskStatus::Working);
    drop(driver);
    assert_eq!(handle.status(), TaskStatus::Failed);
    let lost = handle.await.unwrap_err();
    assert_eq!(
        lost.to_string(),
        "task `t` was lost: the tokio runtime ended before there was an answer, or has no timer (`enable_time`)"
    );
    assert!(lost.into_report().is_none());
}

#[test]
fn the_status_is_what_the_driver_says_and_then_what_the_report_says() {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    for end in [Completed, InputRequired, Failed, Blocked, Cancelled, TimedOut] {
        let (handle, driver) = handle();
        assert_eq!(handle.status(), Submitted);
        driver.set_status(Working);
        assert_eq!(handle.status(), Working);
        driver.answer(Ok(report(end)));
        assert_eq!(handle.status(), end);

        let (handle, driver) = self::handle();
        driver.answer(Err(TeamError::Telemetry { report: Box::new(report(end)) }));
        assert_eq!(handle.status(), end, "also where the report comes in an error");
    }
}

#[test]
fn cancelling_signals_the_token_and_dropping_does_not() {
    let stop = CancellationToken::new();
    let (first, _driver) = TaskHandle::new(TaskId::new("t").unwrap(), stop.clone());
    drop(first);
    assert!(!stop.is_cancelled());
    let (second, _driver) = TaskHandle::new(TaskId::new("t").unwrap(), stop.clone());
    second.cancel();
    assert!(stop.is_cancelled());
    assert!(format!("{second:?}").starts_with("TaskHandle { task: TaskId(\"t\"), status: Submitted"));
}

#[test]
fn an_answer_for_a_handle_that_is_gone_goes_nowhere() {
    let (handle, driver) = handle();
    drop(handle);
    driver.answer(Ok(report(TaskStatus::Completed)));
}

#[test]
fn the_errors_of_a_team_say_what_to_do() {
    let telemetry = TeamError::Telemetry { report: Box::new(report(TaskStatus::Completed)) };
    assert_eq!(
        telemetry.to_string(),
        "telemetry of task `t` failed 0 times; its report is kept in this error"
    );
    assert_eq!(telemetry.into_report().unwrap().status, TaskStatus::Completed);
    assert_eq!(
        TeamError::NoTokio.to_string(),
        "there is no tokio runtime here; call from inside one, for example under `#[tokio::main]`"
    );
}
