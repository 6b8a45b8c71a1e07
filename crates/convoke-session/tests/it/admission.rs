//! Which attempts a session admits, and how it says no.

use convoke_core::{ErrorCode, Message, TaskError, TaskStatus};
use convoke_session::{Author, LateWriteHook, Session, SessionLimits};

use crate::fixtures::{
    agent, attempt, completed, failed, ids, reach, report, session, session_id, start, status, task, working,
};

#[test]
fn a_status_decides_about_the_next_attempt() {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    let check = |from: TaskStatus, expected: Result<u32, &str>| {
        let session = session();
        let kept = reach(&session, "t", from);
        let before = session.snapshot();
        match (session.admit(attempt("t")), expected) {
            (Ok(admission), Ok(number)) => {
                assert_eq!((admission.attempt(), status(&session, "t")), (number, Some(Submitted)), "{from}");
            }
            (Err(error), Err(text)) => {
                assert_eq!((error.code(), error.to_string().as_str()), (ErrorCode::InvalidRequest, text));
                let after = session.snapshot();
                assert_eq!(after.task(&task("t")), before.task(&task("t")), "{from}");
                assert_eq!(after.revision(), before.revision(), "{from}");
                let task_error = TaskError::from(error);
                assert_eq!((task_error.code(), task_error.message()), (ErrorCode::InvalidRequest, text));
            }
            (actual, expected) => panic!("{from}: {actual:?}, expected {expected:?}"),
        }
        drop(kept);
    };
    check(Submitted, Err("task `t` is submitted; wait for its report, or give the request another id"));
    check(Working, Err("task `t` is working; wait for its report, or give the request another id"));
    check(Completed, Err("task `t` is completed; read its report, or give the request another id"));
    check(
        TimedOut,
        Err(
            "task `t` is timed_out; its work may have taken effect, so reconcile it, or give the request another id",
        ),
    );
    check(InputRequired, Ok(2));
    check(Failed, Ok(2));
    check(Blocked, Ok(2));
    check(Cancelled, Ok(2));
}

#[test]
fn a_new_id_gets_attempt_1_and_the_last_report_goes_along() {
    let session = session();
    let mut admission = session.admit(attempt("t")).unwrap();
    assert_eq!((admission.attempt(), admission.previous(), admission.required_agent()), (1, None, None));
    let first = admission.settle(failed(TaskError::new(ErrorCode::ExecutionFailed, "no"))).unwrap();

    let admission = session.admit(attempt("t")).unwrap();
    assert_eq!(admission.previous(), Some(first.clone()));
    let snapshot = session.snapshot();
    let record = snapshot.task(&task("t")).unwrap();
    assert_eq!(
        (record.attempt, record.status, record.report.as_ref()),
        (2, TaskStatus::Submitted, Some(&first))
    );
    drop(admission);
}

#[test]
fn detached_work_keeps_its_id_until_it_ends() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    let mut cancelled = report(TaskStatus::Cancelled);
    cancelled.detached = true;
    assert!(admission.settle(cancelled).unwrap().detached);

    let error = session.admit(attempt("t")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StillDetached);
    assert_eq!(
        error.to_string(),
        "attempt 1 of task `t` was given up but its work still runs; try again when it has ended"
    );
    assert!(!session.is_idle());
    assert!(!session.detached_ended(&task("t"), 2, None));
    assert!(!session.detached_ended(&task("other"), 1, None));
    assert!(session.detached_ended(&task("t"), 1, None));
    assert!(!session.detached_ended(&task("t"), 1, None));
    assert!(session.is_idle());
    assert_eq!(session.admit(attempt("t")).unwrap().attempt(), 2);
}

#[test]
fn only_work_that_started_can_be_detached() {
    let session = session();
    let mut admission = session.admit(attempt("t")).unwrap();
    let mut cancelled = report(TaskStatus::Cancelled);
    cancelled.detached = true;
    assert!(!admission.settle(cancelled).unwrap().detached);
    assert!(session.is_idle());
}

#[test]
fn the_room_for_the_input_is_set_aside() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(3));
    let mut admission = session.admit(attempt("a").with_message(Message::user("and that"))).unwrap();
    crate::fixtures::now(session.post(Message::user("last"))).unwrap();
    assert!(crate::fixtures::now(session.post(Message::user("too much"))).is_err());

    let error = session.admit(attempt("b")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionFull);
    assert_eq!(
        error.to_string(),
        "input of task `b` does not fit: session `s` has 0 of 3 messages left and 1 are needed; \
         trim it, or raise `SessionLimits::messages`"
    );
    assert_eq!(session.snapshot().task(&task("b")), None);

    start(&mut admission);
    assert_eq!(ids(&session.snapshot()), ["host/1", "a/1/input", "a/1/input/1"]);
}

#[test]
fn room_that_is_not_used_is_given_back() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(1));
    let mut admission = session.admit(attempt("a")).unwrap();
    admission.settle(report(TaskStatus::Blocked)).unwrap();
    drop(session.admit(attempt("a")).unwrap());
    assert_eq!(session.admit(attempt("b")).unwrap().attempt(), 1);
}

#[test]
fn an_input_over_the_value_limit_is_an_invalid_request() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_value_bytes(4));
    let error = session.admit(attempt("t")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRequest);
    assert_eq!(
        error.to_string(),
        "input of task `t` does not fit: message has 5 bytes, 4 are allowed; \
         split it, or raise `SessionLimits::value_bytes`"
    );
}

#[test]
fn a_dropped_admission_fails_and_its_id_goes_on() {
    for started in [false, true] {
        let session = session();
        let mut admission = session.admit(attempt("t")).unwrap();
        let handle = started.then(|| start(&mut admission));
        drop(admission);

        let snapshot = session.snapshot();
        let record = snapshot.task(&task("t")).unwrap();
        assert_eq!(record.status, TaskStatus::Failed);
        let error = record.report.as_ref().unwrap().error.clone().unwrap();
        assert_eq!(error.code(), ErrorCode::ExecutionFailed);
        assert_eq!(error.message(), "attempt 1 of task `t` was given up before it ended; run the task again");
        assert!(handle.is_none_or(|handle| handle.is_revoked()));
        assert_eq!(session.admit(attempt("t")).unwrap().attempt(), 2);
    }
}

#[test]
fn a_dropped_admission_that_was_settled_changes_nothing() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    admission.settle(completed("done")).unwrap();
    let before = session.snapshot().revision();
    drop(admission);
    assert_eq!(session.snapshot().revision(), before);
    assert_eq!(status(&session, "t"), Some(TaskStatus::Completed));
}

#[test]
fn a_start_is_one_commit_and_counts_once() {
    let session = session();
    let mut admission = session.admit(attempt("t").by(Author::Agent(agent("lead")))).unwrap();
    let before = session.snapshot();
    assert_eq!(before.messages().len(), 0);

    let first = start(&mut admission);
    let after = session.snapshot();
    assert_eq!(after.revision(), before.revision() + 1);
    assert_eq!(after.task(&task("t")).unwrap().status, TaskStatus::Working);
    assert_eq!(after.message_at(0).unwrap().author, Author::Agent(agent("lead")));

    let second = admission.start(&agent("another"), LateWriteHook::none());
    assert_eq!(session.snapshot().revision(), after.revision());
    assert_eq!((second.agent(), second.is_revoked()), (first.agent(), false));
    admission.settle(completed("done")).unwrap();
    assert!(start(&mut admission).is_revoked() && first.is_revoked());
}
