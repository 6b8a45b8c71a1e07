//! What an executor may write, and when it no longer may.

use serde_json::{Value, json};

use convoke_core::{Message, TaskStatus};
use convoke_session::{Expected, LateWriteHook, LateWriteKind, Session, SessionError, SessionLimits};

use crate::fixtures::{
    agent, artifact, attempt, completed, failed, now, recording, report, session, session_id, task, texts,
    working,
};

#[test]
fn a_handle_knows_where_it_belongs() {
    let session = session();
    let (admission, handle) = working(&session, "t");
    assert_eq!(handle.session_id(), session.id());
    assert_eq!((handle.task(), handle.attempt(), handle.agent()), (&task("t"), 1, Some(&agent("writer"))));
    assert_eq!(texts(&handle.snapshot()), ["do it"]);
    drop(admission);
}

#[test]
fn shared_state_is_written_at_once_and_survives_a_failure() {
    let session = session();
    let (mut admission, handle) = working(&session, "t");
    let first = now(handle.set("k", json!(1))).unwrap();
    now(handle.compare_and_set("k", Expected::Revision(first), json!(2))).unwrap();
    now(handle.update("n", |found| json!(found.is_none()))).unwrap();
    now(handle.set("gone", Value::Null)).unwrap();
    assert!(now(handle.erase("gone")).unwrap());
    assert_eq!(session.get("k").unwrap().value, json!(2));

    admission.settle(report(TaskStatus::Failed)).unwrap();
    assert_eq!(handle.get("k").unwrap().value, json!(2));
    assert_eq!(session.get("n").unwrap().value, json!(true));
    assert_eq!(session.get("gone"), None);
}

#[test]
fn a_late_write_is_refused_and_told_once() {
    let late = || Message::agent("late");
    let check = |kind: LateWriteKind, write: &dyn Fn(&convoke_session::SessionHandle) -> SessionError| {
        let session = session();
        let (hook, told) = recording();
        let mut admission = session.admit(attempt("t")).unwrap();
        let handle = admission.start(&agent("writer"), hook);
        admission.settle(report(TaskStatus::Cancelled)).unwrap();
        // Another attempt of the task is none of the handle's business.
        let mut second = session.admit(attempt("t")).unwrap();
        second.start(&agent("writer"), LateWriteHook::none());
        let before = session.snapshot().revision();

        let error = write(&handle);
        assert_eq!(error, SessionError::Revoked { task: task("t"), attempt: 1 });
        assert_eq!(error.to_string(), "attempt 1 of task `t` has ended; write before its executor returns");
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0].session, &told[0].task, told[0].attempt), (session.id(), &task("t"), 1));
        assert_eq!((&told[0].agent, told[0].kind), (&Some(agent("writer")), kind));
        assert_eq!(session.snapshot().revision(), before);
        drop(second);
    };
    check(LateWriteKind::Message, &|handle| handle.post(late()).unwrap_err());
    check(LateWriteKind::Artifact, &|handle| handle.publish(artifact("a", "late")).unwrap_err());
    check(LateWriteKind::State, &|handle| now(handle.set("k", json!(1))).unwrap_err());
    check(LateWriteKind::State, &|handle| now(handle.set("", json!(1))).unwrap_err());
    check(LateWriteKind::State, &|handle| now(handle.erase("k")).unwrap_err());
    check(LateWriteKind::State, &|handle| now(handle.update("k", |_| json!(1))).unwrap_err());
    check(LateWriteKind::State, &|handle| {
        now(handle.compare_and_set("k", Expected::Revision(9), json!(1))).unwrap_err()
    });
}

#[test]
fn a_write_that_is_refused_in_time_is_not_late() {
    let session = session();
    let (hook, told) = recording();
    let mut admission = session.admit(attempt("t")).unwrap();
    let handle = admission.start(&agent("writer"), hook);
    assert_eq!(now(handle.set("", json!(1))), Err(SessionError::EmptyKey));
    assert!(now(handle.compare_and_set("k", Expected::Revision(9), json!(1))).is_err());
    assert!(told.lock().unwrap().is_empty());
    assert!(!handle.is_revoked());
}

#[test]
fn a_hook_may_use_the_session() {
    let session = session();
    let host = session.clone();
    let hook = LateWriteHook::new(move |write| {
        now(host.post(Message::user(format!("{} came late", write.kind)))).unwrap();
    });
    let mut admission = session.admit(attempt("t")).unwrap();
    let handle = admission.start(&agent("writer"), hook);
    admission.settle(completed("")).unwrap();
    handle.post(Message::agent("late")).unwrap_err();
    assert_eq!(texts(&session.snapshot()), ["do it", "message came late"]);
}

#[test]
fn what_is_staged_has_its_room() {
    let limits = SessionLimits::default().with_messages(3).with_artifacts(1).with_value_bytes(20);
    let session = Session::with_limits(session_id(), limits);
    let (mut admission, handle) = working(&session, "t");
    handle.post(Message::agent("one")).unwrap();
    handle.post(Message::agent("two")).unwrap();
    let full = handle.post(Message::agent("three")).unwrap_err();
    assert_eq!(
        full.to_string(),
        "session `s` has 0 of 3 messages left and 1 are needed; trim it, or raise `SessionLimits::messages`"
    );
    assert!(now(session.post(Message::user("no room"))).is_err());
    handle.publish(artifact("a", "x")).unwrap();
    assert_eq!(
        handle.publish(artifact("b", "x")).unwrap_err().to_string(),
        "session `s` has 0 of 1 artifacts left and 1 are needed; \
         use another session, or raise `SessionLimits::artifacts`"
    );
    let large = handle.publish(artifact("c", "x".repeat(21))).unwrap_err();
    assert_eq!(
        large.to_string(),
        "artifact `c` has 21 bytes, 20 are allowed; split it, or raise `SessionLimits::value_bytes`"
    );

    // An answer needs room as well; without one, what was staged always fits.
    assert!(admission.settle(completed("answer")).is_err());
    admission.settle(completed("")).unwrap();
    assert_eq!(texts(&session.snapshot()), ["do it", "one", "two"]);
}

#[test]
fn what_is_not_published_gives_its_room_back() {
    let limits = SessionLimits::default().with_messages(2).with_artifacts(1);
    let session = Session::with_limits(session_id(), limits);
    let (mut admission, handle) = working(&session, "t");
    handle.post(Message::agent("dropped")).unwrap();
    handle.publish(artifact("a", "dropped")).unwrap();
    let error = convoke_core::TaskError::new(convoke_core::ErrorCode::ExecutionFailed, "no");
    admission.settle(failed(error)).unwrap();

    let (mut admission, handle) = working(&session, "u");
    handle.publish(artifact("a", "kept")).unwrap();
    admission.settle(completed("")).unwrap();
    assert_eq!(session.snapshot().usage().messages, 2);
    assert_eq!(session.snapshot().usage().artifacts, 1);
}

#[test]
fn a_replacement_needs_room_for_its_growth_alone() {
    let session =
        Session::with_limits(session_id(), SessionLimits::default().with_bytes(30).with_artifacts(1));
    let publish = |bytes: usize, status: TaskStatus| {
        let mut admission = session.admit(convoke_session::Attempt::new(task("t"))).unwrap();
        let handle = admission.start(&agent("writer"), LateWriteHook::none());
        handle.publish(artifact("a", "x".repeat(bytes)))?;
        admission.settle(report(status)).unwrap();
        Ok::<_, SessionError>(session.snapshot().usage().bytes)
    };
    assert_eq!(publish(25, TaskStatus::InputRequired), Ok(25));
    assert_eq!(publish(30, TaskStatus::InputRequired), Ok(30));
    assert!(publish(31, TaskStatus::InputRequired).is_err());
    assert_eq!(publish(4, TaskStatus::Completed), Ok(4));
}
