//! What is decided about a task that was given up.

use convoke_core::{ErrorCode, Message, Pause, Resume, ResumeToken, TaskError, TaskOutput, TaskStatus};
use convoke_session::{
    AdmissionOptions, Author, LateWriteHook, Reconcile, ReconcileError, Session, SessionLimits,
};

use crate::fixtures::{
    agent, artifact, artifact_text, attempt, completed, end_late, failed, give_up, ids, now, reach, record,
    report, session, session_id, start, status, task, texts, working,
};

fn decide(session: &Session, word: Reconcile) -> Result<TaskStatus, ReconcileError> {
    now(session.reconcile(&task("t"), word)).map(|report| report.status)
}

/// Refused with these words, and nothing changed.
fn check_refusal(session: &Session, word: Reconcile, code: ErrorCode, text: &str) {
    let before = session.snapshot();
    let error = decide(session, word).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str(), error.task()), (code, text, &task("t")));
    let after = session.snapshot();
    assert_eq!((after.revision(), after.task(&task("t"))), (before.revision(), before.task(&task("t"))));
}

const WORDS: [Reconcile; 3] = [Reconcile::Retry, Reconcile::Abandon, Reconcile::AcceptLate];

/// A task whose latest attempt has ended so, and was not detached.
fn ended(status: TaskStatus) -> Session {
    let session = session();
    reach(&session, "t", status);
    session
}

#[test]
fn nothing_is_decided_while_work_is_alive_or_unknown() {
    for word in WORDS {
        let invalid = ErrorCode::InvalidRequest;
        let unknown = "task `t` is not known here; look at the session that its report names";
        check_refusal(&session(), word, invalid, unknown);
        for active in [TaskStatus::Submitted, TaskStatus::Working] {
            let session = session();
            let kept = reach(&session, "t", active);
            let text = format!("task `t` is {active}; decide once its report is there");
            check_refusal(&session, word, invalid, &text);
            drop(kept);
        }
        for given_up in [TaskStatus::TimedOut, TaskStatus::Cancelled, TaskStatus::Completed] {
            let session = session();
            give_up(&session, "t", given_up);
            let text = "attempt 1 of task `t` was given up but its work still runs; \
                        decide when it has ended, or forfeit it";
            check_refusal(&session, word, ErrorCode::StillDetached, text);
        }
        let completed = ended(TaskStatus::Completed);
        let text = "task `t` is completed, so nothing is to be decided: its result stands";
        check_refusal(&completed, word, invalid, text);
    }
}

#[test]
fn a_task_that_timed_out_is_retried_by_word() {
    let session = ended(TaskStatus::TimedOut);
    let before = session.snapshot().revision();
    assert_eq!(decide(&session, Reconcile::Retry), Ok(TaskStatus::TimedOut));
    assert_eq!(session.snapshot().revision(), before + 1);
    let decided = record(&session, "t");
    assert_eq!((decided.status, decided.reconciled), (TaskStatus::TimedOut, Some(Reconcile::Retry)));
    assert!(decided.allows_next_attempt() && session.is_idle());

    let mut admission = session.admit(attempt("t")).unwrap();
    assert_eq!((admission.attempt(), admission.is_reconciled()), (2, false));
    assert_eq!(admission.previous().unwrap().status, TaskStatus::TimedOut);
    assert_eq!(record(&session, "t").reconciled, None);
    start(&mut admission);
    admission.settle(report(TaskStatus::TimedOut)).unwrap();
    assert!(session.admit(attempt("t")).is_err(), "each time-out takes its own word");
}

#[test]
fn a_retry_drops_what_came_late() {
    let session = session();
    end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
    decide(&session, Reconcile::Retry).unwrap();
    assert_eq!((record(&session, "t").late, session.is_idle()), (None, true));
    let text = "task `t` is timed_out and has no late report; retry or abandon it";
    check_refusal(&session, Reconcile::AcceptLate, ErrorCode::InvalidRequest, text);
}

#[test]
fn a_retry_is_refused_where_the_next_attempt_needs_no_word() {
    use TaskStatus::{Blocked, Cancelled, Failed, InputRequired, TimedOut};
    let check = |session: &Session, status: TaskStatus, reason: &str| {
        let text = format!("task `t` is {status}, so nothing is to be decided: {reason}");
        check_refusal(session, Reconcile::Retry, ErrorCode::InvalidRequest, &text);
    };
    for status in [Failed, Blocked, Cancelled] {
        check(&ended(status), status, "its next attempt needs no word, so run it again");
    }
    check(&ended(InputRequired), InputRequired, "it goes on with an answer");
    let retried = ended(TimedOut);
    decide(&retried, Reconcile::Retry).unwrap();
    check(&retried, TimedOut, "its next attempt needs no word, so run it again");
    let late = session();
    end_late(&late, "t", Cancelled, completed("late"));
    check(&late, Cancelled, "its next attempt needs no word, so run it again");
}

#[test]
fn an_abandoned_task_has_no_further_attempt() {
    use TaskStatus::{Blocked, Cancelled, Failed, TimedOut};
    for status in [TimedOut, Failed, Blocked, Cancelled] {
        let session = session();
        end_late(&session, "t", status, completed("late"));
        let first = record(&session, "t").report;
        assert_eq!(decide(&session, Reconcile::Abandon), Ok(status));
        let closed = record(&session, "t");
        assert_eq!((closed.status, &closed.report, &closed.late), (status, &first, &None));
        assert!(closed.is_closed() && !closed.allows_next_attempt() && session.is_idle(), "{status}");

        for word in [None, Some(Reconcile::Retry), Some(Reconcile::AcceptLate)] {
            let before = session.snapshot().revision();
            let mut options = AdmissionOptions::default();
            options.late = word;
            let error = session.admit_with(attempt("t"), options).unwrap_err();
            assert_eq!((error.code(), error.task()), (ErrorCode::InvalidRequest, &task("t")));
            assert!(error.to_string().starts_with("task `t` is closed for good; give the "), "{error}");
            assert_eq!(session.snapshot().revision(), before);
        }
        let error = session.admit(attempt("t")).unwrap_err();
        assert_eq!(error.to_string(), "task `t` is closed for good; give the request another id");
        for word in WORDS {
            let text = "task `t` is closed for good; give the work another id";
            check_refusal(&session, word, ErrorCode::InvalidRequest, text);
        }
    }
}

#[test]
fn an_abandoned_pause_is_cancelled_and_its_token_void() {
    let session = session();
    let token = || ResumeToken::new(1, "state");
    let mut paused = report(TaskStatus::InputRequired);
    paused.output = Some("so far".into());
    paused.pause = Some(Pause::new("go on?", None, Some(token())));
    let (mut admission, _) = working(&session, "t");
    admission.settle(paused).unwrap();
    // One that ends before its start leaves the pause, under a higher number.
    drop(session.admit(attempt("t").resuming(Resume::new(token(), "yes"))).unwrap());

    let closed = now(session.reconcile(&task("t"), Reconcile::Abandon)).unwrap();
    assert_eq!(
        (closed.status, closed.pause.as_ref(), closed.text()),
        (TaskStatus::Cancelled, None, "so far")
    );
    assert_eq!((closed.code(), closed.attempt), (Some(ErrorCode::Cancelled), 1));
    let record = record(&session, "t");
    assert_eq!((record.status, record.attempt, record.resume_token()), (TaskStatus::Cancelled, 2, None));
    assert_eq!(record.report, Some(closed));
    assert_eq!((session.activity().paused, session.is_idle()), (0, true));
    let answer = attempt("t").resuming(Resume::new(token(), "yes"));
    let error = session.admit(answer).unwrap_err();
    assert_eq!(error.to_string(), "task `t` is closed for good; give the request another id");
}

#[test]
fn a_late_report_is_accepted_in_one_commit_with_all_that_it_publishes() {
    let session = session();
    let output = TaskOutput::text("answer")
        .with_message(Message::agent("a remark"))
        .with_artifact(artifact("result", "returned"));
    end_late(&session, "t", TaskStatus::TimedOut, completed(output));
    let before = session.snapshot();
    let accepted = now(session.reconcile(&task("t"), Reconcile::AcceptLate)).unwrap();
    assert!(accepted.is_success() && !accepted.detached);

    let after = session.snapshot();
    assert_eq!(after.revision(), before.revision() + 1);
    assert_eq!(texts(&after), ["do it", "answer", "a remark"]);
    // The attempt had staged a message, which had the first number and is lost.
    assert_eq!(ids(&after), ["t/1/input", "t/1/output", "t/1/output/2"]);
    assert_eq!(after.message_at(1).unwrap().author, Author::Agent(agent("writer")));
    assert_eq!(artifact_text(&after, "t", "result").as_deref(), Some("returned"));
    let found = after.artifacts().next().unwrap();
    assert_eq!((found.attempt, found.agent.as_ref()), (1, Some(&agent("writer"))));
    let record = after.task(&task("t")).unwrap();
    assert_eq!((record.status, record.attempt, &record.late), (TaskStatus::Completed, 1, &None));
    assert_eq!((record.report.as_ref(), record.reconciled), (Some(&accepted), Some(Reconcile::AcceptLate)));
    assert!(session.is_idle());
    let text = "task `t` is completed, so nothing is to be decided: its result stands";
    check_refusal(&session, Reconcile::AcceptLate, ErrorCode::InvalidRequest, text);
}

#[test]
fn a_late_report_of_the_team_is_the_teams() {
    let session = session();
    let mut admission = session.admit(attempt("t")).unwrap();
    admission.start_coordinated(LateWriteHook::none());
    let mut timed_out = report(TaskStatus::TimedOut);
    timed_out.detached = true;
    admission.settle(timed_out).unwrap();
    session.detached_ended(&task("t"), 1, Some(completed("late")));
    let accepted = now(session.reconcile(&task("t"), Reconcile::AcceptLate)).unwrap();
    assert_eq!(accepted.agent, None);
    assert_eq!(session.snapshot().message_at(0).unwrap().author, Author::Team);
}

#[test]
fn a_late_end_of_any_kind_becomes_the_end() {
    use TaskStatus::{Blocked, Cancelled, Failed, InputRequired, TimedOut};
    let accept = |late| {
        let session = session();
        end_late(&session, "t", TimedOut, late);
        assert!(session.admit(attempt("t")).is_err());
        let expected = record(&session, "t").late;
        now(session.reconcile(&task("t"), Reconcile::AcceptLate)).unwrap();
        assert_eq!((record(&session, "t").report, record(&session, "t").late), (expected, None));
        session
    };
    for late in [Failed, Blocked, Cancelled] {
        let mut end = report(late);
        end.output = Some("not for the session".into());
        let session = accept(end);
        assert_eq!((status(&session, "t"), texts(&session.snapshot())), (Some(late), vec!["do it".into()]));
        assert_eq!(session.admit(attempt("t")).unwrap().attempt(), 2);
    }
    let session = accept(report(TimedOut));
    assert!(session.admit(attempt("t")).is_err());
    decide(&session, Reconcile::Retry).unwrap();

    let mut paused = report(InputRequired);
    let token = ResumeToken::new(1, "state");
    paused.output = Some("so far".into());
    paused.pause = Some(Pause::new("go on?", None, Some(token.clone())));
    let session = accept(paused);
    assert_eq!(
        (session.activity().paused, texts(&session.snapshot())),
        (1, vec!["do it".into(), "so far".into()])
    );
    let admission = session.admit(attempt("t").resuming(Resume::new(token, "yes"))).unwrap();
    assert_eq!((admission.attempt(), admission.required_agent()), (2, Some(agent("writer"))));
}

#[test]
fn a_late_report_that_the_session_cannot_take_stays_as_it_is() {
    let check = |limits: SessionLimits, output: TaskOutput, code: ErrorCode, text: &str, public: &str| {
        let session = Session::with_limits(session_id(), limits);
        end_late(&session, "t", TaskStatus::TimedOut, completed(output));
        check_refusal(&session, Reconcile::AcceptLate, code, text);
        let options = AdmissionOptions::default().with_late(Reconcile::AcceptLate);
        let before = session.snapshot().revision();
        let error = session.admit_with(attempt("t"), options).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (code, text));
        let error = TaskError::from(error);
        assert_eq!((error.code(), error.message(), error.detail()), (code, public, Some(text)));
        assert_eq!((session.snapshot().revision(), session.activity().late), (before, 1));
    };
    let limits = SessionLimits::default().with_messages(2).with_value_bytes(10);
    check(
        limits,
        TaskOutput::text("answer").with_message(Message::agent("more")),
        ErrorCode::SessionFull,
        "output of attempt 1 of task `t` does not fit: session `s` has 1 of 2 messages left and 2 are needed; \
         trim it, or raise `SessionLimits::messages`",
        "session has no room for the output; trim it, or raise its limits",
    );
    check(
        limits,
        TaskOutput::text("answer").with_artifact(artifact("bad", "x".repeat(11))),
        ErrorCode::ContractViolation,
        "output of attempt 1 of task `t` does not fit: artifact `bad` has 11 bytes, 10 are allowed; \
         split it, or raise `SessionLimits::value_bytes`",
        "output has a value over the session's size limit; split it",
    );
    check(
        limits,
        TaskOutput::text("").with_artifact(artifact("a", "x")).with_artifact(artifact("a", "y")),
        ErrorCode::ContractViolation,
        "attempt 1 of task `t` gave artifact `a` more than once; name each differently",
        "output has two artifacts of one id; name each differently",
    );
}

#[test]
fn a_decision_that_is_never_polled_decides_nothing() {
    let session = ended(TaskStatus::TimedOut);
    let before = session.snapshot().revision();
    drop(session.reconcile(&task("t"), Reconcile::Retry));
    assert_eq!(session.snapshot().revision(), before);
}

#[test]
fn an_end_that_was_decided_leaves_older_snapshots_alone() {
    let session = session();
    end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
    let then = session.snapshot();
    decide(&session, Reconcile::AcceptLate).unwrap();
    assert_eq!(then.task(&task("t")).unwrap().status, TaskStatus::TimedOut);
    assert_eq!(then.activity().late, 1);
    let mut admission = session.admit(attempt("u")).unwrap();
    admission.settle(failed(TaskError::new(ErrorCode::ExecutionFailed, "no"))).unwrap();
    assert_eq!(then.tasks().len(), 1);
}
