//! How much a session takes.

use serde_json::json;

use convoke_core::Message;
use convoke_session::{Limit, LimitKind, Session, SessionError, SessionLimits};

use crate::fixtures::{now, session, session_id};

#[test]
fn limits_are_finite_unless_spelled_out() {
    let limits = session().limits();
    assert_eq!(limits, SessionLimits::default());
    assert_eq!(limits.messages, Limit::Finite(10_000));
    assert_eq!(limits.bytes, Limit::Finite(64 << 20));
    assert_eq!(limits.artifacts, Limit::Finite(10_000));
    assert_eq!(limits.value_bytes, Limit::Finite(1 << 20));

    let none = SessionLimits::unlimited();
    assert!(
        [none.messages, none.bytes, none.artifacts, none.value_bytes]
            .into_iter()
            .all(|limit| limit == Limit::Unlimited && limit.allows(u64::MAX))
    );
    assert_eq!((Limit::from(3).to_string(), Limit::Unlimited.to_string()), ("3".into(), "unlimited".into()));
    assert!(Limit::Finite(3).allows(3) && !Limit::Finite(3).allows(4));
}

#[test]
fn a_post_needs_room() {
    let check = |limits: SessionLimits, message: Message, expected: Option<(LimitKind, u64, u64)>| {
        let session = Session::with_limits(session_id(), limits);
        now(session.post(Message::user("1234"))).unwrap();
        match (now(session.post(message)), expected) {
            (Ok(_), None) => {}
            (Err(SessionError::Full { what, left, needed, .. }), Some(expected)) => {
                assert_eq!((what, left, needed), expected);
                assert_eq!(session.snapshot().revision(), 1);
            }
            (actual, expected) => panic!("{actual:?}, expected {expected:?}"),
        }
    };
    let limits = SessionLimits::default();
    check(limits.with_messages(1), Message::user("x"), Some((LimitKind::Messages, 0, 1)));
    check(limits.with_messages(2), Message::user("x"), None);
    check(limits.with_bytes(10), Message::user("1234567"), Some((LimitKind::Bytes, 6, 7)));
    check(limits.with_bytes(10), Message::user("123456"), None);
    check(limits.with_bytes(10), Message::user("").with_data(json!("12345")), Some((LimitKind::Bytes, 6, 7)));
    check(SessionLimits::unlimited().with_bytes(Limit::Unlimited), Message::user("x".repeat(2 << 20)), None);
}

#[test]
fn a_trim_gives_room_back() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(2).with_bytes(8));
    now(session.post(Message::user("1234"))).unwrap();
    now(session.post(Message::user("5678"))).unwrap();
    assert!(now(session.post(Message::user(""))).is_err());
    now(session.trim(1)).unwrap();
    now(session.post(Message::user("9abc"))).unwrap();
    let usage = session.snapshot().usage();
    assert_eq!((usage.messages, usage.bytes), (2, 8));
}
