//! What becomes of a request whose task is completed.

use convoke_core::{ErrorCode, Message, TaskRequest, TaskStatus};
use convoke_session::{Admission, AdmissionError, AdmissionOptions, Admitted, Attempt, IfCompleted, Session};

use crate::fixtures::{
    attempt, completed, ids, reach, record, report, session, start, status, task, working,
};

fn request() -> TaskRequest {
    TaskRequest::new("do it").with_id("t")
}

fn of(request: &TaskRequest) -> Attempt {
    Attempt::of_request(task("t"), request)
}

fn admit(session: &Session, attempt: Attempt, if_completed: IfCompleted) -> Result<Admitted, AdmissionError> {
    session.admit_with(attempt, AdmissionOptions::default().with_if_completed(if_completed))
}

fn opened(admitted: Result<Admitted, AdmissionError>) -> Admission {
    match admitted.unwrap() {
        Admitted::Attempt(admission) => admission,
        other => panic!("{other:?}"),
    }
}

/// A task `t` that this attempt completed.
fn completed_by(attempt: Attempt) -> Session {
    let session = session();
    let mut admission = session.admit(attempt).unwrap();
    start(&mut admission);
    admission.settle(completed("done")).unwrap();
    session
}

#[test]
fn a_digest_is_taken_where_the_request_names_its_id() {
    let named = request();
    assert_eq!(of(&named).digest, Some(named.digest()));
    assert_eq!(Attempt::coordinated(task("t"), &named).digest, Some(named.digest()));
    let unnamed = TaskRequest::new("do it");
    assert_eq!(of(&unnamed).digest, None);
    assert_eq!(of(&unnamed).with_digest(unnamed.digest()).digest, of(&named).digest);
}

#[test]
fn a_record_keeps_the_digest_of_its_latest_attempt() {
    let session = session();
    let mut admission = session.admit(of(&request())).unwrap();
    assert_eq!(record(&session, "t").digest, Some(request().digest()));
    start(&mut admission);
    admission.settle(report(TaskStatus::InputRequired)).unwrap();
    assert_eq!(record(&session, "t").digest, Some(request().digest()));

    // One that does not get to work leaves the pause as it was.
    drop(session.admit(of(&TaskRequest::new("another").with_id("t"))).unwrap());
    assert_eq!(record(&session, "t").digest, Some(request().digest()));
    let mut admission = session.admit(attempt("t")).unwrap();
    start(&mut admission);
    assert_eq!(record(&session, "t").digest, None);
}

#[test]
fn the_same_request_gets_the_recorded_report() {
    let session = completed_by(of(&request()));
    let before = session.snapshot();
    let same = request().with_trace_id("another").with_timeout(std::time::Duration::from_secs(1));
    match admit(&session, of(&same), IfCompleted::Return).unwrap() {
        Admitted::Recorded(report) => assert_eq!(Some(&report), record(&session, "t").report.as_ref()),
        other => panic!("{other:?}"),
    }
    assert_eq!(session.snapshot().revision(), before.revision());
    let refused = admit(&session, of(&same), IfCompleted::Refuse).unwrap_err();
    assert_eq!(refused, session.admit(of(&same)).unwrap_err());
}

#[test]
fn another_request_gets_nothing() {
    let check = |completed: Attempt, asked: Attempt| {
        let session = completed_by(completed);
        let before = session.snapshot();
        let error = admit(&session, asked, IfCompleted::Return).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidRequest);
        assert_eq!(
            error.to_string(),
            "request differs from the one that attempt 1 of task `t` completed; \
             read that report, or give the request another id"
        );
        assert_eq!(error.task(), &task("t"));
        assert_eq!(session.snapshot().revision(), before.revision());
    };
    check(of(&request()), of(&TaskRequest::new("do that").with_id("t")));
    // Nobody knows whether they are the same.
    check(attempt("t"), of(&request()));
    check(of(&request()), attempt("t"));
    check(attempt("t"), attempt("t"));
}

#[test]
fn a_completed_task_is_done_again_by_word() {
    let session = completed_by(of(&request()));
    let mut admission = opened(admit(&session, of(&request()), IfCompleted::Again));
    assert_eq!((admission.attempt(), admission.is_reconciled()), (2, false));
    assert_eq!(admission.previous().unwrap().text(), "done");
    start(&mut admission);
    admission.settle(completed("done again")).unwrap();
    assert_eq!(ids(&session.snapshot()), ["t/1/input", "t/1/output", "t/2/input", "t/2/output"]);
}

#[test]
fn it_changes_nothing_for_a_task_that_is_not_completed() {
    use TaskStatus::{Blocked, Cancelled, Failed, InputRequired, Submitted, TimedOut, Working};
    for option in [IfCompleted::Refuse, IfCompleted::Return, IfCompleted::Again] {
        for from in [Submitted, Working, InputRequired, Failed, Blocked, Cancelled, TimedOut] {
            let (plain, asked) = (session(), session());
            let kept = (reach(&plain, "t", from), reach(&asked, "t", from));
            let by_option = admit(&asked, attempt("t"), option);
            match (plain.admit(attempt("t")), by_option) {
                (Ok(_), Ok(Admitted::Attempt(admission))) => assert_eq!(admission.attempt(), 2),
                (Err(expected), Err(error)) => assert_eq!(error, expected),
                (expected, actual) => panic!("{from}: {actual:?}, expected {expected:?}"),
            }
            drop(kept);
        }
        assert_eq!(opened(admit(&session(), attempt("t"), option)).attempt(), 1);
    }
}

#[test]
fn a_refused_repetition_leaves_the_result() {
    let session = completed_by(of(&request()));
    let long = of(&request()).with_message(Message::user("x".repeat(2 << 20)));
    let before = session.snapshot();
    assert!(matches!(admit(&session, long, IfCompleted::Again).unwrap_err(), AdmissionError::Input { .. }));
    assert_eq!(session.snapshot().revision(), before.revision());
    assert_eq!(status(&session, "t"), Some(TaskStatus::Completed));
}

#[test]
fn completed_work_that_still_runs_is_not_done_again() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    let mut report = completed("done");
    report.detached = true;
    admission.settle(report).unwrap();
    let error = admit(&session, attempt("t"), IfCompleted::Again).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StillDetached);
}
