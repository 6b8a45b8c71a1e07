//! Shared state: values by key, each with its revision.

use serde_json::json;

use convoke_session::{Expected, Session, SessionError, SessionLimits};

use crate::fixtures::{now, session, session_id, value_and_revision};

#[test]
fn every_write_has_its_own_revision() {
    let session = session();
    let first = now(session.set("k", json!("a"))).unwrap();
    assert_eq!(value_and_revision(session.get("k").as_ref()), Some(("\"a\"".into(), first)));
    assert_eq!(session.snapshot().revision(), first);

    assert!(now(session.erase("k")).unwrap());
    assert_eq!(session.get("k"), None);
    let second = now(session.set("k", json!("a"))).unwrap();
    assert!(second > first);
}

#[test]
fn an_erase_of_nothing_is_no_commit() {
    let session = session();
    assert!(!now(session.erase("k")).unwrap());
    assert_eq!(session.snapshot().revision(), 0);
}

#[test]
fn compare_and_set_writes_what_nobody_wrote_in_between() {
    let session = session();
    let first = now(session.compare_and_set("k", Expected::Absent, json!(1))).unwrap();
    let check = |expected: Expected, text: &str| {
        let before = session.snapshot().revision();
        let error = now(session.compare_and_set("k", expected, json!(9))).unwrap_err();
        assert!(error.is_retryable());
        assert_eq!(error.to_string(), text);
        let actual = Expected::of(session.get("k").as_ref());
        assert_eq!(error, SessionError::Conflict { key: "k".into(), expected, actual });
        assert_eq!(session.snapshot().revision(), before);
    };
    check(Expected::Absent, "`k` is at revision 1, not absent; read it again, or use `update`");
    let second = now(session.compare_and_set("k", Expected::Revision(first), json!(2))).unwrap();
    check(
        Expected::Revision(first),
        "`k` is at revision 2, not at revision 1; read it again, or use `update`",
    );
    assert_eq!(value_and_revision(session.get("k").as_ref()), Some(("2".into(), second)));
    now(session.erase("k")).unwrap();
    check(Expected::Revision(second), "`k` is absent, not at revision 2; read it again, or use `update`");
}

#[test]
fn an_update_runs_again_after_a_write_in_between() {
    let session = session();
    let other = session.clone();
    let mut calls = 0;
    let entry = now(session.update("k", |found| {
        calls += 1;
        if calls == 1 {
            // The closure runs outside the lock, so that it may write itself.
            now(other.set("k", json!(10))).unwrap();
        }
        json!(found.and_then(serde_json::Value::as_u64).unwrap_or(0) + 1)
    }))
    .unwrap();
    assert_eq!((calls, entry.value), (2, json!(11)));
    assert_eq!(session.get("k").unwrap().revision, entry.revision);
}

#[test]
fn an_empty_key_is_refused_everywhere() {
    let session = session();
    let value = || json!(1);
    assert_eq!(now(session.set("", value())), Err(SessionError::EmptyKey));
    assert_eq!(now(session.erase("")), Err(SessionError::EmptyKey));
    assert_eq!(now(session.compare_and_set("", Expected::Absent, value())), Err(SessionError::EmptyKey));
    assert_eq!(now(session.update("", |_| value())), Err(SessionError::EmptyKey));
    assert_eq!(now(session.set_metadata("", value())), Err(SessionError::EmptyKey));
    assert_eq!(SessionError::EmptyKey.to_string(), "key is empty; name the value");
}

#[test]
fn a_value_has_its_limits() {
    let session =
        Session::with_limits(session_id(), SessionLimits::default().with_value_bytes(4).with_bytes(10));
    assert_eq!(
        now(session.set("k", json!("abc"))).unwrap_err().to_string(),
        "value of `k` has 5 bytes, 4 are allowed; split it, or raise `SessionLimits::value_bytes`"
    );
    now(session.set("k", json!("ab"))).unwrap();
    now(session.set("l", json!("a"))).unwrap();
    assert_eq!(session.snapshot().usage().bytes, 9);
    assert_eq!(
        now(session.set("m", json!(1))).unwrap_err().to_string(),
        "session `s` has 1 of 10 bytes left and 2 are needed; \
         trim it, erase state, or raise `SessionLimits::bytes`"
    );
    // What is replaced or erased gives its room back.
    now(session.set("l", json!("ab"))).unwrap();
    now(session.erase("k")).unwrap();
    now(session.set("m", json!("ab"))).unwrap();
    assert_eq!(session.snapshot().usage().bytes, 10);
}

#[test]
fn metadata_is_the_hosts() {
    let session = session();
    let before = session.snapshot();
    now(session.set_metadata("customer", json!("acme"))).unwrap();
    now(session.set_metadata("customer", json!("other"))).unwrap();
    assert_eq!(session.snapshot().metadata("customer"), Some(&json!("other")));
    assert_eq!(before.metadata("customer"), None);
    assert_eq!(session.snapshot().usage().bytes, 0);
}
