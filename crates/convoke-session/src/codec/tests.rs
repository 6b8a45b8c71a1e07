//! What is refused in a record, and what a record looks like.

use std::sync::Arc;

use convoke_core::{LogContents, MAX_JSON_DEPTH, Message, MessageId, Record, Sequence, SessionId};
use serde_json::{Value, json};

use super::{decode, encode};
use crate::{
    Author, SessionMessage, StoreErrorKind,
    machine::{Change, State},
};

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn log(records: impl IntoIterator<Item = Record>) -> LogContents {
    LogContents::new(Sequence::START, records.into_iter().collect())
}

fn check_refused(record: &str, expected: &str) {
    let error = decode(&id(), &log([record.into()])).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreadable);
    assert!(error.to_string().ends_with(expected), "{error}");
}

fn metadata(value: Value) -> State {
    let change = Change::Metadata("key".into(), Arc::new(value));
    decode(&id(), &log([encode(&id(), 1, &[change]).unwrap()])).unwrap()
}

#[test]
fn a_record_is_a_document_with_its_version() {
    let message = Message::user("hello");
    let (id_of_message, author) = (MessageId::of_host(1), Author::Host);
    let message = SessionMessage { sequence: 1, id: id_of_message, author, message };
    let record = encode(&id(), 7, &[Change::Message(Arc::new(message))]).unwrap();
    assert_eq!(
        record.to_text(),
        r#"{"v":1,"revision":7,"changes":[{"message":{"sequence":1,"id":"host/1","author":"host","message":{"role":"user","text":"hello"}}}]}"#
    );
}

#[test]
fn what_a_later_version_wrote_is_refused_whatever_else_is_in_it() {
    check_refused(r#"{"v":2,"other":[]}"#, "a record of it has version 2, and 1 is the latest known here");
}

#[test]
fn what_is_malformed_is_refused() {
    check_refused("no", "a record of it is malformed: expected ident at line 1 column 2");
    check_refused(
        r#"{"v":1,"revision":1,"changes":[],"more":1}"#,
        "a record of it is malformed: unknown field `more`, expected one of `v`, `revision`, `changes` at line 1 column 39",
    );
}

#[test]
fn what_nests_deeper_than_anything_that_is_written_is_refused() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    check_refused(
        &format!(r#"{{"v":1,"revision":1,"changes":[{{"metadata":["key",{open}{close}]}}]}}"#),
        "a record of it is malformed: recursion limit exceeded at line 1 column 174",
    );
}

/// A value that nests so deep.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(0.1 + 0.2), |value, _| Value::Array(vec![value]))
}

#[test]
fn values_come_back_as_they_were() {
    // As deep as may be, and numbers whose shortest forms are long.
    let deep = nested(MAX_JSON_DEPTH);
    assert_eq!(metadata(deep.clone()).metadata.get("key").map(AsRef::as_ref), Some(&deep));
    let float = json!(1.234_567_891_234_568e-22);
    assert_eq!(metadata(float.clone()).metadata.get("key").map(AsRef::as_ref), Some(&float));
}
