//! How a coordinated task fails, what it keeps all the same, and what ends it before it begins.

use std::fmt;

use tokio::time::Instant;

use convoke_core::{
    Artifact, ErrorCode, Message, TaskError, TaskOutcome, TaskOutput, TaskReport, TaskRequest, TaskStatus,
};
use convoke_observability::{Event, EventId, ObserverError};
use convoke_registry::{
    AgentRegistry, CancellationToken, CoordinatedContext, Coordination, CoordinationError,
    CoordinationEvents, CoordinationMoment, RunOptions,
};

use crate::house::{House, assert_end, ms, task};

fn house() -> House {
    House::new(AgentRegistry::new())
}

async fn coordinate<B, F>(house: &House, request: TaskRequest, body: B) -> TaskReport
where
    B: FnOnce(CoordinatedContext) -> F + Send + 'static,
    F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
{
    house.team.coordinate(request, RunOptions::new(), Coordination::new(body)).await.unwrap()
}

#[derive(Debug)]
struct Outer(Inner);

#[derive(Debug)]
struct Inner;

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret outside")
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret inside")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl std::error::Error for Inner {}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_task_keeps_code_and_text_and_any_other_is_private() {
    let house = house();
    let own = |_| async {
        Err(TaskError::new(ErrorCode::ConsensusNotReached, "two against two").with_detail("a, b"))?;
        Ok(TaskOutcome::completed("not reached"))
    };
    let report = coordinate(&house, task("own"), own).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    let error = report.error.unwrap();
    assert_eq!((error.message(), error.detail()), ("two against two", Some("a, b")));

    let other = |_| async {
        Err(Outer(Inner))?;
        Ok(TaskOutcome::completed("not reached"))
    };
    let report = coordinate(&house, task("other"), other).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
    let error = report.error.unwrap();
    assert_eq!(
        (error.message(), error.detail()),
        ("coordinated task returned an error", Some("secret outside: secret inside"))
    );
}

/// Some output, with all that a session could publish.
fn so_far() -> TaskOutput {
    TaskOutput::text("so far")
        .with_message(Message::agent("said"))
        .with_artifact(Artifact::text("file", "half").unwrap())
}

#[track_caller]
fn assert_kept_and_not_published(house: &House, report: &TaskReport) {
    assert_eq!(report.output.as_ref(), Some(&so_far()));
    let snapshot = house.team.session("s").unwrap().snapshot();
    assert_eq!((snapshot.messages().len(), snapshot.artifacts().count()), (0, 0));
    assert_eq!(house.record("s", report.task.as_str()).report.as_deref(), Some(report));
}

#[tokio::test(start_paused = true)]
async fn what_there_is_all_the_same_is_kept_in_the_report_and_not_published() {
    for code in [ErrorCode::BudgetExhausted, ErrorCode::CapabilityNotFound, ErrorCode::Cancelled] {
        let house = house();
        let body = move |ctx: CoordinatedContext| async move {
            ctx.session().post(Message::agent("staged")).unwrap();
            Err(CoordinationError::new(TaskError::new(code, "no")).with_output(so_far()))
        };
        let report = coordinate(&house, task("t"), body).await;
        assert_end(&report, code.status(), code);
        assert_eq!(report.error.as_ref().unwrap().message(), "no");
        assert_kept_and_not_published(&house, &report);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_says_that_it_was_stopped_ends_by_the_cause_and_keeps_what_there_is() {
    let body = |ctx: CoordinatedContext| async move {
        ctx.scope().cancellation().cancelled().await;
        Err(CoordinationError::new(TaskError::new(ErrorCode::Cancelled, "stopped")).with_output(so_far()))
    };
    let house = house();
    let report = coordinate(&house, task("deadline").with_timeout(ms(20)), body).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_kept_and_not_published(&house, &report);

    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let run = tokio::spawn(house.team.coordinate(task("token"), options, Coordination::new(body)));
    crate::house::settle().await;
    token.cancel();
    let report = run.await.unwrap().unwrap();
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_kept_and_not_published(&house, &report);

    // Every other word is its own, also after a stop.
    let body = |ctx: CoordinatedContext| async move {
        ctx.scope().cancellation().cancelled().await;
        let error = TaskError::new(ErrorCode::ConsensusNotReached, "two against two");
        Err(CoordinationError::new(error).with_output(so_far()))
    };
    let report = coordinate(&house, task("own word").with_timeout(ms(20)), body).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_kept_and_not_published(&house, &report);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_cancelled_before_is_not_checked_and_ends_as_cancelled() {
    let house = house();
    let token = CancellationToken::new();
    token.cancel();
    // Cancelled goes before a deadline that has passed as well.
    for (id, deadline) in [("t", None), ("u", Some(Instant::now()))] {
        let unasked = |_: CoordinatedContext| async { panic!("not to be called") };
        let coordination = Coordination::new(unasked).with_check(|| panic!("not to be called"));
        let mut options = RunOptions::new().with_cancellation(token.clone());
        options.deadline = deadline;
        let report = house.team.coordinate(task(id), options, coordination).await.unwrap();
        assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
        assert_eq!((report.attempt, house.record("s", id).status), (1, TaskStatus::Cancelled));
    }
    let other = coordinate(&house, task("t"), |ctx| async move {
        assert_eq!(ctx.previous().unwrap().status, TaskStatus::Cancelled);
        Ok(TaskOutcome::completed("done"))
    });
    assert_eq!(other.await.attempt, 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_whose_deadline_has_passed_is_checked_first() {
    let house = house();
    let options = || RunOptions::new().with_deadline(Instant::now());
    let unasked = |_: CoordinatedContext| async { panic!("not to be called") };
    let check = || Err(TaskError::new(ErrorCode::BudgetExhausted, "no"));
    let refused = Coordination::new(unasked).with_check(check);
    let report = house.team.coordinate(task("t"), options(), refused).await.unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::BudgetExhausted);
    assert_eq!(report.attempt, 0);
    assert!(house.team.session("s").is_none());

    let passes = Coordination::new(unasked).with_check(|| Ok(()));
    let report = house.team.coordinate(task("t"), options(), passes).await.unwrap();
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(report.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn its_grace_is_that_of_the_runtime() {
    let body =
        |ctx: CoordinatedContext| async move { Ok(TaskOutcome::completed(format!("{:?}", ctx.grace()))) };
    let house = House::built(AgentRegistry::new(), |builder| builder.grace(ms(7)));
    assert_eq!(coordinate(&house, task("t"), body).await.text(), "7ms");
    assert_eq!(coordinate(&self::house(), task("t"), body).await.text(), "50ms");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_its_body_keeps_its_code_and_text() {
    let house = house();
    let cases = [
        (ErrorCode::ConsensusNotReached, TaskStatus::Failed),
        (ErrorCode::BudgetExhausted, TaskStatus::Failed),
        (ErrorCode::CapabilityNotFound, TaskStatus::Blocked),
        (ErrorCode::Cancelled, TaskStatus::Cancelled),
        (ErrorCode::TimedOut, TaskStatus::TimedOut),
    ];
    for (attempt, (code, status)) in (1..).zip(cases) {
        let report = coordinate(&house, task("t"), move |_| async move {
            Err(TaskError::new(code, "its own text").into())
        })
        .await;
        assert_end(&report, status, code);
        assert_eq!((report.attempt, report.error.unwrap().message()), (attempt, "its own text"));
    }
}

#[tokio::test(start_paused = true)]
async fn its_outcomes_are_those_of_any_task() {
    let house = house();
    let report = coordinate(&house, task("t"), |_| async { Ok(TaskOutcome::blocked("secret")) }).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::AgentBlocked);
    assert_eq!(report.error.unwrap().message(), "coordinated task cannot do it as things stand");
    let report = coordinate(&house, task("t"), |_| async { Ok(TaskOutcome::cancelled()) }).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    let twice = || Artifact::text("file", "x").unwrap();
    let output = TaskOutput::text("x").with_artifact(twice()).with_artifact(twice());
    let report = coordinate(&house, task("t"), |_| async { Ok(TaskOutcome::completed(output)) }).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ContractViolation);
    assert_eq!(house.team.session("s").unwrap().snapshot().messages().len(), 0);
}

/// Panics when it is dropped.
struct Cursed;

impl Drop for Cursed {
    fn drop(&mut self) {
        panic!("in the destructor of the caller's own");
    }
}

impl CoordinationEvents for Cursed {
    fn observe(&self, _: &CoordinationMoment<'_>) -> Result<(), ObserverError> {
        Ok(())
    }

    fn to_event(&self, moment: &CoordinationMoment<'_>, id: EventId, unix_millis: u64) -> Event {
        Event::new(id, unix_millis, "vote", "told", moment.task.as_str())
    }
}

#[tokio::test(start_paused = true)]
async fn a_destructor_of_its_caller_that_panics_costs_no_answer() {
    let house = house();
    let done = |_: CoordinatedContext| async { Ok(TaskOutcome::completed("done")) };
    let tells = Coordination::new(done).with_events(Cursed);
    let report = house.team.coordinate(task("t"), RunOptions::new(), tells).await.unwrap();
    assert_end(&report, TaskStatus::Completed, None);

    let cursed = Cursed;
    let unchecked = Coordination::new(done).with_check(move || {
        let _kept = &cursed;
        Ok(())
    });
    let empty = TaskRequest::new("").in_session("s");
    let report = house.team.coordinate(empty, RunOptions::new(), unchecked).await.unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);

    let (cursed, token) = (Cursed, CancellationToken::new());
    token.cancel();
    let unchecked = Coordination::new(done).with_check(move || {
        let _kept = &cursed;
        Ok(())
    });
    let options = RunOptions::new().with_cancellation(token);
    let report = house.team.coordinate(task("u"), options, unchecked).await.unwrap();
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    house.assert_rest();
}
