//! Requests: what they keep, and what makes one invalid.

use std::{fmt::Display, time::Duration};

use proptest::prelude::*;
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{Value, json};

use convoke_core::{
    AgentId, CapacityPolicy, ErrorCode, MAX_JSON_DEPTH, Message, Resume, ResumeToken, SessionId, SkillId,
    TaskId, TaskRequest,
};

use crate::values::{
    agent_id, assert_round_trip, duration, json, message, metadata, session_id, skill_id, task_id, token,
    with_stranger,
};

/// No JSON, for a reason that quotes what it holds.
struct Unwritable(&'static str);

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(self.0))
    }
}

fn defect(request: &TaskRequest) -> Option<String> {
    request.defect().as_ref().map(ToString::to_string)
}

#[test]
fn the_first_bad_part_is_named_and_the_good_ones_are_kept() {
    fn check(request: TaskRequest, expected: impl Display) {
        // What comes after it changes nothing, good or bad.
        let request = request.requiring("review").preferring("").with_timeout(Duration::ZERO);
        assert_eq!(defect(&request), Some(expected.to_string()));
        assert_eq!(request.required_skills, [SkillId::new("review").unwrap()]);
    }
    let new = || TaskRequest::new("Draft text");
    check(new().with_id("a\nb"), "task id `a\\nb` has a control character at byte 1; remove it");
    check(new().in_session(" "), "session id ` ` begins or ends with a blank; trim it");
    check(new().requiring(""), "skill id is empty; give it 1 to 256 bytes");
    check(new().preferring("x".repeat(257)), "agent id has 257 bytes; at most 256 are allowed");
    check(TaskRequest::new("").with_id(""), "task id is empty; give it 1 to 256 bytes");
}

#[test]
fn a_bad_id_takes_the_place_of_none() {
    let request = TaskRequest::new("x").with_id("good").with_id("").in_session("").preferring("");
    assert_eq!((request.id, request.session, request.preferred_agent), (None, None, None));
}

#[test]
fn what_cannot_be_written_as_json_is_a_defect_whose_cause_stays_private() {
    let request = TaskRequest::new("x").with_json(&Unwritable("secret"));
    let defect = request.defect().unwrap();
    assert!(!defect.to_string().contains("secret"), "{defect}");
    let error = defect.into_task_error();
    assert_eq!(error.code(), ErrorCode::InvalidRequest);
    assert!(!error.message().contains("secret") && !error.to_string().contains("secret"), "{error}");
    assert!(error.detail().unwrap().contains("secret"));
}

#[test]
fn a_timeout_of_zero_is_refused() {
    let request = |timeout| TaskRequest::new("x").with_timeout(timeout);
    assert_eq!(defect(&request(Duration::from_nanos(1))), None);
    assert_eq!(defect(&request(Duration::ZERO)).unwrap(), "timeout is zero; leave it out for none");
}

#[test]
fn data_that_nests_too_deep_is_refused_wherever_it_is() {
    let nest = |value, level| match level % 2 {
        0 => Value::Array(vec![value, json!(2)]),
        _ => Value::Object([("inner".to_owned(), value)].into_iter().collect()),
    };
    let nested = |levels| (0..levels).fold(json!(1), nest);
    let new = || TaskRequest::new("x");
    let everywhere = |levels| {
        [
            new().with_json(&nested(levels)),
            new().with_message(Message::user("y").with_data(nested(levels))),
            new().resuming(ResumeToken::empty(), nested(levels)),
            new().resuming(ResumeToken::new(1, nested(levels)), "go on"),
            new().with_metadata("key", nested(levels)),
        ]
    };
    for request in everywhere(MAX_JSON_DEPTH) {
        assert_eq!(defect(&request), None);
    }
    for request in everywhere(MAX_JSON_DEPTH + 1).iter().chain(&everywhere(2_000)) {
        let text = "request has data that nests more than 96 levels deep; flatten it";
        assert_eq!(defect(request).as_deref(), Some(text));
    }
}

#[test]
fn a_request_needs_something_to_work_on() {
    let empty = || TaskRequest::new("");
    for request in [
        empty().with_json(&json!(1)),
        empty().with_message(Message::user("hello")),
        empty().resuming(ResumeToken::new(1, "state"), "yes"),
        TaskRequest::new(" "),
    ] {
        assert_eq!(defect(&request), None, "{request:?}");
    }
    let said = "request has nothing to work on; give it an input, data, a message or an answer";
    for request in [
        empty(),
        TaskRequest::default(),
        empty().requiring("review").with_id("draft").with_metadata("k", "v").with_trace_id("t"),
    ] {
        assert_eq!(defect(&request).as_deref(), Some(said), "{request:?}");
    }
}

#[test]
fn a_request_is_made_of_texts_or_of_ids() {
    let by_text = TaskRequest::new("x").with_id("t").in_session("s").requiring("k").preferring("a");
    let session = SessionId::new("s").unwrap();
    let by_id = TaskRequest::new("x")
        .with_id(TaskId::new("t").unwrap())
        .in_session(&session)
        .requiring(SkillId::new("k").unwrap())
        .preferring(AgentId::new("a").unwrap());
    assert_eq!(by_text, by_id);
    assert_eq!(by_id.session, Some(session));
}

#[test]
fn a_request_with_a_bad_part_is_not_written() {
    let request = TaskRequest::new("x").requiring("review\n");
    let error = serde_json::to_string(&request).unwrap_err();
    assert_eq!(
        error.to_string(),
        "request cannot be written: skill id `review\\n` has a control character at byte 6; remove it"
    );
}

#[test]
fn what_json_leaves_out_is_the_default() {
    let read: TaskRequest = serde_json::from_value(json!({ "input": "x" })).unwrap();
    assert_eq!(read, TaskRequest::new("x"));
    let read: TaskRequest = serde_json::from_str("{}").unwrap();
    assert_eq!(read, TaskRequest::default());
}

#[test]
fn json_must_have_good_ids_and_no_field_too_many() {
    for json in [
        json!({ "id": "" }),
        json!({ "session": " " }),
        json!({ "required_skills": ["a\n"] }),
        json!({ "preferred_agent": "x".repeat(257) }),
        json!({ "capacity": "maybe" }),
        json!({ "defect": null }),
        json!({ "messages": [{ "role": "user", "text": "", "stranger": 1 }] }),
    ] {
        assert!(serde_json::from_value::<TaskRequest>(json.clone()).is_err(), "{json}");
    }
    assert!(with_stranger(&TaskRequest::new("x")).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&Message::user("x")).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&ResumeToken::new(1, 2)).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&Resume::new(ResumeToken::new(1, 2), 3)).starts_with("unknown field `stranger`"));
}

#[test]
fn a_resume_token_keeps_what_the_executor_put_in() {
    let token = ResumeToken::new(3, json!({ "at": 7 }));
    assert_eq!((token.version(), token.state()), (3, &json!({ "at": 7 })));
    assert_eq!(ResumeToken::empty(), ResumeToken::new(0, Value::Null));
}

proptest! {
    #[test]
    fn a_request_survives_being_written_and_read(
        ids in (prop::option::of(task_id()), prop::option::of(session_id()), prop::option::of(agent_id())),
        input in ".{0,12}",
        data in prop::option::of(json()),
        messages in prop::collection::vec(message(), 0..3),
        skills in prop::collection::vec(skill_id(), 0..3),
        timeout in prop::option::of(duration()),
        rejects in any::<bool>(),
        resume in prop::option::of((token(), json())),
        metadata in metadata(),
        trace_id in prop::option::of(".{0,8}"),
    ) {
        let mut request = TaskRequest::new(input);
        (request.id, request.session, request.preferred_agent) = ids;
        request.data = data;
        request.messages = messages;
        request.required_skills = skills;
        request.timeout = timeout;
        request.capacity = if rejects { CapacityPolicy::Reject } else { CapacityPolicy::Wait };
        request.resume = resume.map(|(token, answer): (ResumeToken, Value)| Resume::new(token, answer));
        request.metadata = metadata;
        request.trace_id = trace_id;
        assert_round_trip(&request);
    }
}
