//! What may cross threads.

use serde_json::Value;

use convoke_core::Message;
use convoke_session::{
    Admission, AdmissionError, Expected, LateWriteHook, Reconcile, ReconcileError, Session, SessionError,
    SessionHandle, SessionSnapshot, SettleError,
};

use crate::fixtures::{session, working};

fn shareable<T: Clone + Send + Sync + 'static>() {}
fn sendable<T: Send + 'static>(_: T) {}
fn error<T: std::error::Error + Send + Sync + 'static>() {}

#[test]
fn everything_may_move_and_what_is_shared_may_be_shared() {
    shareable::<Session>();
    shareable::<SessionSnapshot>();
    shareable::<SessionHandle>();
    shareable::<LateWriteHook>();
    error::<SessionError>();
    error::<AdmissionError>();
    error::<SettleError>();
    error::<ReconcileError>();

    let session = session();
    let (admission, handle) = working(&session, "t");
    sendable::<Admission>(admission);
    let change = |_: Option<&Value>| Value::Null;
    sendable(session.post(Message::user("x")));
    sendable(session.trim(1));
    sendable(session.reconcile(handle.task(), Reconcile::Retry));
    sendable(session.set_metadata("k", Value::Null));
    sendable(session.set("k", Value::Null));
    sendable(session.erase("k"));
    sendable(session.compare_and_set("k", Expected::Absent, Value::Null));
    sendable(session.update("k", change));
    sendable(handle.set("k", Value::Null));
    sendable(handle.erase("k"));
    sendable(handle.compare_and_set("k", Expected::Absent, Value::Null));
    sendable(handle.update("k", change));
}

#[test]
fn a_write_that_is_never_polled_does_nothing() {
    let session = session();
    let before = session.snapshot().revision();
    drop(session.post(Message::user("x")));
    drop(session.set("k", Value::Null));
    drop(session.set_metadata("k", Value::Null));
    assert_eq!(session.snapshot().revision(), before);
}
