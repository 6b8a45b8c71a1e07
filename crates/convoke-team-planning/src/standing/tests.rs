use convoke_core::{SessionId, TaskId};
use convoke_session::{Admitted, Attempt, LateWriteHook, Session};

use super::*;

fn mark(generation: u32, attempt: u32, answers: u32) -> StepMark {
    StepMark { key: format!("plan/step/{generation}"), attempt, answers }
}

/// The record of a task whose one attempt ended so, made for this mark.
fn ended(status: TaskStatus, made_for: &StepMark) -> TaskRecord {
    let (session, task) = (Session::new(SessionId::new("s").unwrap()), TaskId::new("step").unwrap());
    let Ok(Admitted::Attempt(mut admission)) =
        session.admit_with(Attempt::new(task.clone()), convoke_session::AdmissionOptions::default())
    else {
        panic!("a new session admits")
    };
    admission.start(&convoke_core::AgentId::new("a").unwrap(), LateWriteHook::none());
    let mut report = TaskReport::new(task.clone(), session.id().clone(), status);
    made_for.put(&mut report.metadata);
    admission.settle(report).unwrap();
    session.snapshot().task(&task).unwrap().clone()
}

const PLAIN: Next = Next::Attempt { withdraw: false, restore: false };

#[test]
fn what_was_made_for_exactly_this_attempt_is_taken_and_nothing_else() {
    let mine = mark(2, 3, 1);
    for status in [TaskStatus::Completed, TaskStatus::InputRequired] {
        let record = ended(status, &mine);
        assert_eq!(next(Some(&record), &mine), Next::Take(record.report.clone().unwrap()), "{status}");
        for other in [mark(1, 3, 1), mark(2, 2, 1), mark(2, 3, 0), mark(2, 3, 2)] {
            let next = next(Some(&ended(status, &other)), &mine);
            assert!(!matches!(next, Next::Take(_)), "{status} {other:?}");
        }
    }
}

#[test]
fn what_failed_or_was_stopped_is_asked_for_again() {
    let mine = mark(0, 1, 0);
    assert_eq!(next(None, &mine), PLAIN);
    for status in [TaskStatus::Failed, TaskStatus::Blocked, TaskStatus::Cancelled, TaskStatus::TimedOut] {
        assert_eq!(next(Some(&ended(status, &mine)), &mine), PLAIN, "{status}");
    }
    assert_eq!(next(Some(&ended(TaskStatus::Completed, &mark(0, 2, 0))), &mine), PLAIN);
}

#[test]
fn an_answer_goes_to_the_pause_that_asked_or_brings_it_back() {
    let mine = mark(0, 1, 1);
    let check = |record: Option<TaskRecord>, withdraw, restore| {
        assert_eq!(next(record.as_ref(), &mine), Next::Attempt { withdraw, restore }, "{record:?}");
    };
    check(Some(ended(TaskStatus::InputRequired, &mark(0, 1, 0))), false, false);
    check(Some(ended(TaskStatus::InputRequired, &mark(0, 2, 0))), true, true);
    check(Some(ended(TaskStatus::Cancelled, &mine)), false, true);
    check(None, false, true);
}

#[test]
fn a_pause_that_nobody_answers_is_withdrawn() {
    let record = ended(TaskStatus::InputRequired, &mark(0, 1, 0));
    assert_eq!(next(Some(&record), &mark(1, 1, 0)), Next::Attempt { withdraw: true, restore: false });
}
