//! What detached work leaves when it ends, and what of it is kept.

use serde_json::json;

use convoke_core::{ErrorCode, Message, TaskError, TaskReport, TaskStatus};
use convoke_session::{AdmissionOptions, Admitted, Reconcile, Session};

use crate::fixtures::{
    agent, attempt, completed, end_late, failed, give_up, now, record, report, session, task, texts, working,
};

#[test]
fn a_late_report_is_kept_and_published_by_nobody() {
    let session = session();
    // What the session knows better: a report that has come is not detached.
    let mut said = completed("late");
    (said.attempt, said.detached) = (7, true);
    end_late(&session, "t", TaskStatus::TimedOut, said);
    let record = record(&session, "t");
    assert_eq!((record.status, record.detached), (TaskStatus::TimedOut, false));
    assert_eq!(record.report.unwrap().status, TaskStatus::TimedOut);
    let late = record.late.unwrap();
    assert_eq!((&late.task, &late.session), (&task("t"), session.id()));
    assert_eq!((late.attempt, late.detached), (1, false));
    assert_eq!(
        (late.agent.as_ref(), late.status, late.text()),
        (Some(&agent("writer")), TaskStatus::Completed, "late")
    );
    assert_eq!(texts(&session.snapshot()), ["do it"]);
    assert_eq!((session.activity().late, session.activity().detached, session.is_idle()), (1, 0, false));
}

#[test]
fn it_has_the_metadata_that_the_attempt_had() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    let mut given_up = report(TaskStatus::TimedOut);
    given_up.detached = true;
    given_up.metadata.insert("ticket".into(), json!(7));
    admission.settle(given_up.clone()).unwrap();
    let mut said = completed("late");
    said.metadata.insert("other".into(), json!(8));
    assert!(session.detached_ended(&task("t"), 1, Some(said)));
    assert_eq!(record(&session, "t").late.unwrap().metadata, given_up.metadata);

    let accepted = now(session.reconcile(&task("t"), Reconcile::AcceptLate)).unwrap();
    assert_eq!(accepted.metadata, given_up.metadata);
}

#[test]
fn it_is_kept_where_the_attempt_published_nothing() {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, TimedOut};
    let check = |status: TaskStatus, is_kept: bool| {
        let session = session();
        end_late(&session, "t", status, completed("late"));
        let record = record(&session, "t");
        assert_eq!((record.late.is_some(), record.detached), (is_kept, false), "{status}");
        assert_eq!(session.activity().late, usize::from(is_kept));
    };
    for status in [Failed, Blocked, Cancelled, TimedOut] {
        check(status, true);
    }
    check(Completed, false);
    check(InputRequired, false);
}

#[test]
fn an_active_report_is_no_end() {
    for status in [TaskStatus::Submitted, TaskStatus::Working] {
        let session = session();
        end_late(&session, "t", TaskStatus::TimedOut, report(status));
        assert_eq!(record(&session, "t").late, None);
        assert!(session.is_idle());
    }
}

#[test]
fn a_late_report_is_that_of_the_marked_attempt_alone() {
    let session = session();
    give_up(&session, "t", TaskStatus::TimedOut);
    let before = session.snapshot();
    assert!(!session.detached_ended(&task("t"), 2, Some(completed("late"))));
    assert!(!session.detached_ended(&task("u"), 1, Some(completed("late"))));
    assert_eq!(session.snapshot().revision(), before.revision());
    assert!(session.detached_ended(&task("t"), 1, Some(completed("late"))));
    assert!(!session.detached_ended(&task("t"), 1, Some(completed("later"))));
    assert_eq!(record(&session, "t").late.unwrap().text(), "late");
    assert_eq!(session.snapshot().revision(), before.revision() + 1);
}

#[test]
fn the_next_attempt_drops_it() {
    let session = session();
    end_late(&session, "t", TaskStatus::Cancelled, completed("late"));
    let mut admission = session.admit(attempt("t")).unwrap();
    assert!(!admission.is_reconciled());
    assert_eq!((record(&session, "t").late, session.activity().late), (None, 0));
    admission.settle(failed(TaskError::new(ErrorCode::ExecutionFailed, "no"))).unwrap();
    assert_eq!(record(&session, "t").late, None);
}

#[test]
fn forfeited_work_gives_nothing_late() {
    let session = session();
    give_up(&session, "t", TaskStatus::TimedOut);
    assert!(!session.forfeit(&task("t"), 2));
    assert!(!session.forfeit(&task("u"), 1));
    assert_eq!(session.activity().detached, 1);
    assert!(session.forfeit(&task("t"), 1));
    assert!(session.is_idle());
    let before = session.snapshot();
    assert!(!session.forfeit(&task("t"), 1));
    assert!(!session.detached_ended(&task("t"), 1, Some(completed("late"))));
    assert_eq!(session.snapshot().revision(), before.revision());
    assert_eq!(record(&session, "t").late, None);

    // The id goes on as that of any task that timed out.
    assert!(session.admit(attempt("t")).is_err());
    now(session.reconcile(&task("t"), Reconcile::Retry)).unwrap();
    assert_eq!(session.admit(attempt("t")).unwrap().attempt(), 2);
}

#[test]
fn an_older_attempt_does_not_end_a_newer_one() {
    let session = session();
    give_up(&session, "t", TaskStatus::Cancelled);
    session.forfeit(&task("t"), 1);
    assert_eq!(give_up(&session, "t", TaskStatus::Cancelled), 2);
    assert!(!session.detached_ended(&task("t"), 1, Some(completed("of the first"))));
    assert_eq!((record(&session, "t").detached, record(&session, "t").late), (true, None));
}

#[test]
fn a_trim_keeps_the_other_half_of_a_call_that_came_late() {
    let call = || "c".parse().unwrap();
    let message = |text: &str| Message::agent(text).with_call(call());
    let session = session();
    now(session.post(message("asks"))).unwrap();
    let mut late = completed("late");
    late.output = late.output.map(|output| output.with_message(message("answers")));
    end_late(&session, "t", TaskStatus::TimedOut, late);
    assert_eq!(now(session.trim(0)), Ok(1));
    assert_eq!(texts(&session.snapshot()), ["asks"]);
    now(session.reconcile(&task("t"), Reconcile::Abandon)).unwrap();
    assert_eq!(now(session.trim(0)), Ok(1));
}

/// What an admission that decides about late work makes of it.
fn admit(session: &Session, late: Reconcile) -> Result<Admitted, convoke_session::AdmissionError> {
    session.admit_with(attempt("t"), AdmissionOptions::default().with_late(late))
}

fn retried(session: &Session) -> u32 {
    match admit(session, Reconcile::Retry).unwrap() {
        Admitted::Attempt(admission) => {
            assert!(admission.is_reconciled());
            admission.attempt()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_admission_may_decide_to_retry() {
    let timed_out = session();
    give_up(&timed_out, "t", TaskStatus::TimedOut);
    assert_eq!(admit(&timed_out, Reconcile::Retry).unwrap_err().code(), ErrorCode::StillDetached);
    timed_out.forfeit(&task("t"), 1);
    let before = timed_out.snapshot().revision();
    assert_eq!(retried(&timed_out), 2);
    // The one of the admission, and the one of its drop.
    assert_eq!(timed_out.snapshot().revision(), before + 2);

    let cancelled = session();
    end_late(&cancelled, "t", TaskStatus::Cancelled, completed("late"));
    assert_eq!(retried(&cancelled), 2);
    assert_eq!(record(&cancelled, "t").late, None);
}

#[test]
fn an_admission_that_is_refused_has_decided_nothing() {
    let session = session();
    end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
    let before = session.snapshot();
    let options = AdmissionOptions::default().with_late(Reconcile::Retry);
    let long = attempt("t").with_message(Message::user("x".repeat(2 << 20)));
    session.admit_with(long, options).unwrap_err();
    let answers = convoke_core::Resume::new(convoke_core::ResumeToken::empty(), "yes");
    session.admit_with(attempt("t").resuming(answers), options).unwrap_err();
    let after = session.snapshot();
    assert_eq!((after.revision(), after.task(&task("t"))), (before.revision(), before.task(&task("t"))));
    assert!(session.admit(attempt("t")).is_err());
}

#[test]
fn an_admission_may_accept_what_came_late() {
    let session = session();
    end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
    let before = session.snapshot().revision();
    match admit(&session, Reconcile::AcceptLate).unwrap() {
        Admitted::Accepted(report) => assert_eq!((report.text(), report.attempt), ("late", 1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(session.snapshot().revision(), before + 1);
    assert_eq!(texts(&session.snapshot()), ["do it", "late"]);

    give_up(&session, "u", TaskStatus::TimedOut);
    let options = AdmissionOptions::default().with_late(Reconcile::AcceptLate);
    let running = session.admit_with(attempt("u"), options).unwrap_err();
    assert_eq!(running.code(), ErrorCode::StillDetached);
    session.forfeit(&task("u"), 1);
    let none = session.admit_with(attempt("u"), options).unwrap_err();
    assert_eq!((none.code(), none.task()), (ErrorCode::InvalidRequest, &task("u")));
    assert_eq!(none.to_string(), "task `u` is timed_out and has no late report; retry or abandon it");
    assert_eq!(TaskError::from(none.clone()).message(), none.to_string());
}

#[test]
fn an_admission_does_not_abandon_its_own_task() {
    let session = session();
    let unknown = admit(&session, Reconcile::Abandon).unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::InvalidRequest);
    assert_eq!(
        unknown.to_string(),
        "request cannot abandon its own task `t`; retry it or accept its late report, or reconcile it instead"
    );
    end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
    let before = session.snapshot().revision();
    assert_eq!(admit(&session, Reconcile::Abandon).unwrap_err(), unknown);
    assert_eq!(session.snapshot().revision(), before);
}

#[test]
fn there_is_a_word_about_late_work_alone() {
    for word in [Reconcile::Retry, Reconcile::AcceptLate] {
        let check = |session: &Session, number: u32| match admit(session, word).unwrap() {
            Admitted::Attempt(admission) => {
                assert_eq!((admission.attempt(), admission.is_reconciled()), (number, false));
            }
            other => panic!("{other:?}"),
        };
        check(&session(), 1);
        let failed = session();
        give_up(&failed, "t", TaskStatus::Failed);
        failed.forfeit(&task("t"), 1);
        check(&failed, 2);

        let done = session();
        give_up(&done, "t", TaskStatus::Completed);
        done.forfeit(&task("t"), 1);
        let error = admit(&done, word).unwrap_err();
        assert_eq!(error, done.admit(attempt("t")).unwrap_err());
    }
}

#[test]
fn a_report_that_came_late_in_time_is_none() {
    let report: TaskReport = completed("late");
    let session = session();
    assert!(!session.detached_ended(&task("t"), 1, Some(report)));
    assert_eq!(session.snapshot().tasks().len(), 0);
}
