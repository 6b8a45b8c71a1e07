//! Coordinated tasks and answers as values: what they are made of, and what a door that is closed says to them.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};

use convoke_core::{
    ErrorCode, SessionId, TaskError, TaskId, TaskOutcome, TaskOutput, TaskReport, TaskRequest, TaskStatus,
};
use convoke_observability::{Event, EventId, ObserverError};
use convoke_registry::{
    Answers, CoordinatedContext, Coordination, CoordinationError, CoordinationEvents, CoordinationMoment,
    CoordinationStage, RunOptions, TeamHandle,
};
use convoke_testkit::{Trial, dropped_after};

/// An error with a cause.
#[derive(Debug)]
struct Unwell(std::num::ParseIntError);

impl fmt::Display for Unwell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("count of votes is unreadable")
    }
}

impl std::error::Error for Unwell {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

fn of(error: impl Into<CoordinationError>) -> CoordinationError {
    error.into()
}

#[test]
fn an_error_of_a_task_stays_what_it_is_and_any_other_is_private() {
    let error = TaskError::new(ErrorCode::ConsensusNotReached, "two against two").with_detail("a, b");
    assert_eq!(of(error.clone()), CoordinationError::new(error.clone()));
    assert_eq!(of(error.clone()).error(), &error);

    let other = of(Unwell("x".parse::<u32>().unwrap_err()));
    let error = other.error();
    assert_eq!(
        (error.code(), error.message(), error.detail()),
        (
            ErrorCode::ExecutionFailed,
            "coordinated task returned an error",
            Some("count of votes is unreadable: invalid digit found in string")
        )
    );
}

#[test]
fn an_error_keeps_what_there_is_all_the_same() {
    let error = TaskError::new(ErrorCode::BudgetExhausted, "no more");
    assert_eq!(of(error.clone()).into_parts(), (error.clone(), None));
    let kept = of(error.clone()).with_output(TaskOutput::text("first")).with_output(TaskOutput::text("last"));
    assert_ne!(kept, of(error.clone()));
    assert_eq!(kept.error(), &error);
    assert_eq!(kept.into_parts(), (error, Some(TaskOutput::text("last"))));
}

struct Silent;

impl CoordinationEvents for Silent {
    fn observe(&self, _: &CoordinationMoment<'_>) -> Result<(), ObserverError> {
        Ok(())
    }

    fn to_event(&self, moment: &CoordinationMoment<'_>, id: EventId, unix_millis: u64) -> Event {
        Event::new(id, unix_millis, "vote", "told", moment.task.as_str())
    }
}

async fn unasked(_: CoordinatedContext) -> Result<TaskOutcome, CoordinationError> {
    panic!("not to be called")
}

#[test]
fn a_coordination_is_silent_and_unchecked_unless_set() {
    let bare = Coordination::new(unasked);
    assert_eq!(format!("{bare:?}"), "Coordination { check: false, events: false, .. }");
    let (check, _, events) = bare.into_parts();
    assert!(check.is_none() && events.is_none());

    let no = || Err(TaskError::new(ErrorCode::InvalidRequest, "no"));
    let full = Coordination::new(unasked).with_check(no).with_events(Silent);
    assert_eq!(format!("{full:?}"), "Coordination { check: true, events: true, .. }");
    let (check, _, events) = full.into_parts();
    assert_eq!(check.unwrap()().unwrap_err().message(), "no");
    assert!(events.is_some());
}

#[test]
fn a_moment_has_no_attempt_trace_error_or_time_unless_set() {
    let (session, task) = (SessionId::new("s").unwrap(), TaskId::new("t").unwrap());
    let moment = CoordinationMoment::new(CoordinationStage::Ended, &session, &task, TaskStatus::Blocked);
    assert_eq!((moment.stage, moment.status), (CoordinationStage::Ended, TaskStatus::Blocked));
    assert_eq!((moment.session, moment.task), (&session, &task));
    assert!(moment.trace_id.is_none() && moment.error.is_none());
    assert_eq!((moment.attempt, moment.elapsed), (0, Duration::ZERO));
}

#[test]
fn a_context_has_fifty_milliseconds_of_grace_unless_set() {
    let trial = Trial::new(TaskRequest::new("x").with_id("t").in_session("s")).unwrap();
    let ctx = trial.context();
    let bare =
        CoordinatedContext::new(ctx.session().clone(), ctx.scope().clone(), TeamHandle::closed(), None);
    assert_eq!((bare.grace(), bare.task().as_str(), bare.attempt()), (Duration::from_millis(50), "t", 1));
    assert_eq!(bare.with_grace(Duration::ZERO).grace(), Duration::ZERO);
}

#[tokio::test]
async fn a_door_that_is_closed_refuses_each_in_order_and_calls_nothing() {
    let team = TeamHandle::closed();
    let requests = [TaskRequest::new("x").with_id("t").in_session("s"), TaskRequest::new("y")];
    let mut answers = team.run_each(requests, RunOptions::new());
    for index in 0..2 {
        let (answered, answer) = answers.next().await.unwrap();
        let report = answer.unwrap();
        assert_eq!(answered, index);
        assert_eq!((report.status, report.code()), (TaskStatus::Blocked, Some(ErrorCode::ShuttingDown)));
        if index == 0 {
            assert_eq!((report.task.as_str(), report.session.as_str()), ("t", "s"));
        }
    }
    assert!(answers.next().await.is_none());

    let coordination = Coordination::new(unasked).with_check(|| panic!("not to be called"));
    let report = team.coordinate(TaskRequest::new("x"), RunOptions::new(), coordination).await.unwrap();
    assert_eq!(report.code(), Some(ErrorCode::ShuttingDown));
}

#[tokio::test]
async fn answers_are_those_of_their_stream_one_by_one_or_as_a_stream() {
    let report = |id: &str| {
        TaskReport::new(TaskId::new(id).unwrap(), SessionId::new("s").unwrap(), TaskStatus::Completed)
    };
    let answers = || {
        let reports = ["t", "u", "v"].map(report);
        Answers::new(stream::iter([2, 0, 1].into_iter().zip(reports.map(Ok))))
    };
    let mut one_by_one = answers();
    let (index, answer) = one_by_one.next().await.unwrap();
    assert_eq!((index, answer.unwrap().task.as_str()), (2, "t"));
    let rest: Vec<_> = one_by_one.map(|(index, _)| index).collect().await;
    assert_eq!(rest, [0, 1]);
}

#[tokio::test]
async fn an_answer_is_copied_only_for_whoever_wants_it_alone() {
    let kept = Arc::new(TaskReport::new(
        TaskId::new("t").unwrap(),
        SessionId::new("s").unwrap(),
        TaskStatus::Completed,
    ));
    let answer = || Ok(Arc::clone(&kept));
    let mut answers = Answers::of_shared(stream::iter([(4, answer()), (2, answer())]));
    let (index, shared) = answers.next_shared().await.unwrap();
    assert!(index == 4 && Arc::ptr_eq(&shared.unwrap(), &kept));
    let (index, own) = answers.next().await.unwrap();
    assert_eq!((index, own.unwrap()), (2, (*kept).clone()));
    assert!(answers.next_shared().await.is_none());
}

#[tokio::test]
async fn next_waits_where_nothing_has_come_and_loses_nothing_where_it_is_dropped() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let coming = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    let mut answers = Answers::new(coming);
    assert!(dropped_after(1, answers.next()).await.is_none());
    let report =
        TaskReport::new(TaskId::new("t").unwrap(), SessionId::new("s").unwrap(), TaskStatus::Completed);
    sender.send((7, Ok(report))).unwrap();
    assert!(dropped_after(0, answers.next()).await.is_none());
    assert_eq!(answers.next().await.unwrap().0, 7);
    drop(sender);
    assert!(answers.next().await.is_none());
}
