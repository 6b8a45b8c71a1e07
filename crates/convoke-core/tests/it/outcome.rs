//! Outcomes, outputs and artifacts.

use serde_json::json;

use convoke_core::{Artifact, ArtifactId, Message, ResumeToken, TaskOutcome, TaskOutput};

use crate::values::{assert_round_trip, with_stranger};

#[test]
fn an_answer_is_read_from_its_data_or_else_from_its_text() {
    let mut both = TaskOutput::text("[3]");
    both.data = Some(json!([1, 2]));
    assert_eq!(both.json::<Vec<u32>>().unwrap(), [1, 2]);
    assert_eq!(TaskOutput::text("[3]").json::<Vec<u32>>().unwrap(), [3]);
    assert_eq!(TaskOutput::from_json(&[4]).unwrap().json::<Vec<u32>>().unwrap(), [4]);
    assert!(TaskOutput::text("three").json::<Vec<u32>>().is_err());
    assert!(TaskOutput::default().json::<Vec<u32>>().is_err());
}

#[test]
fn an_answer_that_is_nothing_is_still_nothing_once_written_and_read() {
    let answer = TaskOutput::from_json(&None::<u32>).unwrap();
    let read: TaskOutput = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
    for output in [answer, read, TaskOutput::default()] {
        assert_eq!(output.json::<Option<u32>>().unwrap(), None);
        output.json::<()>().unwrap();
    }
}

#[test]
fn what_is_no_json_is_no_answer() {
    assert!(TaskOutput::from_json(&std::collections::BTreeMap::from([((1, 2), 3)])).is_err());
}

#[test]
fn every_outcome_has_its_output() {
    let output = || TaskOutput::text("so far");
    for outcome in [
        TaskOutcome::completed("so far"),
        TaskOutcome::from("so far"),
        TaskOutcome::from(String::from("so far")),
        TaskOutcome::from(output()),
        TaskOutcome::InputRequired { prompt: "?".into(), request: None, resume: None, output: output() },
        TaskOutcome::Blocked { reason: "no key".into(), output: output() },
        TaskOutcome::Cancelled { output: output() },
        TaskOutcome::TimedOut { output: output() },
    ] {
        assert_eq!(outcome.output(), &output(), "{outcome:?}");
    }
    for outcome in
        [TaskOutcome::blocked("no key"), TaskOutcome::cancelled(), TaskOutcome::input_required("?")]
    {
        assert_eq!(outcome.output(), &TaskOutput::default(), "{outcome:?}");
    }
}

#[test]
fn only_what_asks_for_input_keeps_a_token() {
    let token = || ResumeToken::new(1, "s");
    let TaskOutcome::InputRequired { prompt, request: None, resume, .. } =
        TaskOutcome::input_required("?").with_resume(token())
    else {
        panic!("it asks for input")
    };
    assert_eq!((prompt.as_str(), resume), ("?", Some(token())));
    for outcome in [TaskOutcome::completed("x"), TaskOutcome::blocked("x"), TaskOutcome::cancelled()] {
        assert_eq!(outcome.clone().with_resume(token()), outcome);
    }
}

#[test]
fn an_artifact_has_a_good_id_and_a_size() {
    let text = Artifact::text("draft", "héllo").unwrap().with_media_type("text/plain");
    assert_eq!(text.size(), 6);
    let id = ArtifactId::new("facts").unwrap();
    let data = Artifact::data(&id, json!({ "a": [1, true] })).unwrap();
    assert_eq!(data.id, id);
    assert_eq!(data.size(), r#"{"a":[1,true]}"#.len());
    assert_eq!(Message::user("héllo").with_data(json!(null)).size(), 10);
    assert_eq!(
        Artifact::text(" ", "x").unwrap_err().to_string(),
        "artifact id ` ` begins or ends with a blank; trim it"
    );
    assert!(Artifact::data("", json!(1)).is_err());
}

#[test]
fn an_output_survives_being_written_and_read_and_takes_no_field_too_many() {
    let artifact = Artifact::text("draft", "x").unwrap();
    let output = TaskOutput::from_json(&json!({ "a": 1 }))
        .unwrap()
        .with_artifact(artifact.clone())
        .with_message(Message::agent("and so on"))
        .with_metadata("model", "small");
    assert_round_trip(&output);
    assert!(with_stranger(&output).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&artifact).starts_with("unknown field `stranger`"));
}
