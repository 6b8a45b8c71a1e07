//! The digest of a request: what it covers, and what it leaves out.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use convoke_core::{
    AgentId, CapacityPolicy, Message, Metadata, RequestDigest, Resume, ResumeToken, TaskRequest,
};

use crate::values::{agent_id, assert_round_trip, json, message, metadata, skill_id, token};

fn full() -> TaskRequest {
    TaskRequest::new("Draft text")
        .with_json(&json!({ "a": 1, "b": [true, null] }))
        .with_message(Message::user("hello").with_call("c".parse().unwrap()))
        .requiring("review")
        .requiring("draft")
        .preferring("writer")
        .resuming(ResumeToken::new(1, "state"), "yes")
        .with_metadata("k", "v")
}

#[test]
fn is_the_same_for_the_same_work() {
    let check = |change: &dyn Fn(TaskRequest) -> TaskRequest| {
        let changed = change(full());
        assert_eq!(changed.digest(), full().digest(), "{changed:?}");
    };
    check(&|request| request.with_id("t"));
    check(&|request| request.in_session("s"));
    check(&|request| request.with_timeout(Duration::from_secs(1)));
    check(&|request| request.with_capacity(CapacityPolicy::Reject));
    check(&|request| request.with_trace_id("trace"));
    check(&|request| request.resuming(ResumeToken::new(2, "another"), "yes"));
    check(&|request| request.requiring("review"));
    check(&|mut request| {
        request.required_skills.reverse();
        request
    });
    check(&|request| request.with_json(&json!({ "b": [true, null], "a": 1 })));
}

#[test]
fn differs_for_another_work() {
    let check = |change: &dyn Fn(TaskRequest) -> TaskRequest| {
        let changed = change(full());
        assert_ne!(changed.digest(), full().digest(), "{changed:?}");
    };
    check(&|mut request| {
        request.input = "Draft  text".into();
        request
    });
    check(&|request| request.with_json(&json!({ "a": 1, "b": [true] })));
    check(&|request| request.with_json(&json!({ "a": 1.0, "b": [true, null] })));
    check(&|mut request| {
        request.data = None;
        request
    });
    check(&|request| request.with_message(Message::user("")));
    check(&|mut request| {
        request.messages[0].role = convoke_core::Role::Agent;
        request
    });
    check(&|mut request| {
        request.messages[0].call = None;
        request
    });
    check(&|mut request| {
        request.messages[0].data = Some(json!(1));
        request
    });
    check(&|request| request.requiring("another"));
    check(&|request| request.preferring("another"));
    check(&|mut request| {
        request.preferred_agent = None;
        request
    });
    check(&|request| request.resuming(ResumeToken::new(1, "state"), "no"));
    check(&|mut request| {
        request.resume = None;
        request
    });
    check(&|request| request.with_metadata("k", "w"));
    check(&|request| request.with_metadata("l", Value::Null));
}

/// So that a record of an older version still answers.
#[test]
fn is_the_same_in_every_version() {
    assert_eq!(
        full().digest().to_string(),
        "36e0b78716e0b0597be205b5ba9572aec53606223812134dfd0e94c18d7a60b9"
    );
}

#[test]
fn numbers_count_as_they_are() {
    let of = |value: Value| TaskRequest::new("x").with_json(&value).digest();
    assert_eq!(of(json!(0.0)), of(json!(-0.0)));
    assert_ne!(of(json!(0)), of(json!(0.0)));
    assert_ne!(of(json!(9_007_199_254_740_992_u64)), of(json!(9_007_199_254_740_993_u64)));
    assert_ne!(of(json!("1")), of(json!(1)));
}

#[test]
fn parts_do_not_run_together() {
    let of =
        |skills: [&str; 2]| skills.into_iter().fold(TaskRequest::new("x"), TaskRequest::requiring).digest();
    assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
    let said = |texts: [&str; 2]| {
        let messages = texts.map(Message::user);
        messages.into_iter().fold(TaskRequest::new("x"), TaskRequest::with_message).digest()
    };
    assert_ne!(said(["a", "b"]), said(["ab", ""]));
    let answering = |request: TaskRequest| request.resuming(ResumeToken::empty(), json!(null)).digest();
    assert_ne!(answering(TaskRequest::new("x")), TaskRequest::new("x").digest());
}

#[test]
fn is_read_from_its_text_alone() {
    let digest = full().digest();
    assert_round_trip(&digest);
    assert_eq!(format!("{digest:?}"), format!("RequestDigest({digest})"));
    let text = digest.to_string();
    for bad in [&text[1..], &format!("{text}00"), &format!("{text}0"), &text.replacen(&text[..1], "g", 1), ""]
    {
        let error = serde_json::from_value::<RequestDigest>(json!(bad)).unwrap_err();
        assert_eq!(error.to_string(), "request digest is not 64 hexadecimal digits", "{bad}");
    }
    assert!(serde_json::from_value::<RequestDigest>(json!("A".repeat(64))).is_err());
}

type Parts = (String, Option<Value>, Vec<Message>, Option<AgentId>, Option<(ResumeToken, Value)>, Metadata);

fn request((input, data, messages, agent, resume, metadata): Parts) -> TaskRequest {
    let mut request = TaskRequest::new(input);
    request.data = data;
    request.messages = messages;
    request.preferred_agent = agent;
    request.resume = resume.map(|(token, answer)| Resume::new(token, answer));
    request.metadata = metadata;
    request
}

proptest! {
    #[test]
    fn survives_being_written_and_read(
        parts in (
            ".{0,12}",
            prop::option::of(json()),
            prop::collection::vec(message(), 0..3),
            prop::option::of(agent_id()),
            prop::option::of((token(), json())),
            metadata(),
        ),
        skills in prop::collection::vec(skill_id(), 0..3),
    ) {
        let mut request = request(parts);
        request.required_skills = skills;
        let read: TaskRequest = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        prop_assert_eq!(read.digest(), request.digest());
    }

    #[test]
    fn two_requests_share_it_only_where_their_work_is_equal(
        left in (
            "[a-b]{0,2}",
            prop::option::of(Just(json!("a"))),
            prop::collection::vec("[a-b]{0,1}".prop_map(Message::user), 0..2),
            Just(None),
            prop::option::of(Just((ResumeToken::empty(), json!("a")))),
            Just(Metadata::new()),
        ),
        right in (
            "[a-b]{0,2}",
            prop::option::of(Just(json!("a"))),
            prop::collection::vec("[a-b]{0,1}".prop_map(Message::user), 0..2),
            Just(None),
            prop::option::of(Just((ResumeToken::empty(), json!("a")))),
            Just(Metadata::new()),
        ),
    ) {
        let (left, right) = (request(left), request(right));
        prop_assert_eq!(left.digest() == right.digest(), left == right);
    }
}
