//! Reports: what they say, and that they keep it.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use convoke_core::{
    Artifact, ErrorCode, Pause, ResumeToken, SessionId, TaskError, TaskId, TaskOutput, TaskReport,
    TaskRequest, TaskStatus, Timing,
};

use crate::{
    status::STATUSES,
    values::{
        agent_id, assert_round_trip, duration, json, message, metadata, session_id, task_id, token,
        with_stranger,
    },
};

fn report(status: TaskStatus) -> TaskReport {
    TaskReport::new(TaskId::new("draft").unwrap(), SessionId::new("book").unwrap(), status)
}

#[test]
fn only_a_completed_task_has_a_result() {
    for status in STATUSES {
        let mut report = report(status);
        report.output = Some(TaskOutput::text("so far"));
        report.attempt = 3;
        assert_eq!(report.text(), "so far");
        assert_eq!(report.is_success(), status == TaskStatus::Completed);
        match report.clone().into_result() {
            Ok(output) => assert_eq!((status, output), (TaskStatus::Completed, TaskOutput::text("so far"))),
            Err(error) => {
                assert_eq!(error.report(), &report);
                assert_eq!(error.into_report(), report, "the error keeps the whole report");
            }
        }
    }
    assert_eq!(report(TaskStatus::Completed).into_result().unwrap(), TaskOutput::default());
    assert_eq!(report(TaskStatus::Failed).text(), "");
}

#[test]
fn a_report_says_in_one_line_what_happened_and_nothing_private() {
    fn check(change: impl FnOnce(&mut TaskReport), status: TaskStatus, expected: &str) {
        let mut report = report(status);
        report.output = Some(TaskOutput::text("secret"));
        change(&mut report);
        assert_eq!(report.to_string(), expected);
        if let Err(error) = report.into_result() {
            assert_eq!(error.to_string(), expected, "the error says the same");
        }
    }
    let error = TaskError::new(ErrorCode::StoreFailed, "session `book` was not saved").with_detail("secret");
    check(|_| {}, TaskStatus::TimedOut, "task `draft` timed_out");
    check(|report| report.attempt = 2, TaskStatus::Completed, "task `draft` completed, attempt 2");
    check(
        |report| {
            report.agent = Some("writer".parse().unwrap());
            report.attempt = 1;
            report.detached = true;
            report.error = Some(error);
        },
        TaskStatus::Failed,
        "task `draft` failed by `writer`, attempt 1, its work goes on detached: session `book` was not saved (store_failed)",
    );
    check(
        |report| report.pause = Some(Pause::new("which chapter?", None, None)),
        TaskStatus::InputRequired,
        "task `draft` input_required: which chapter?",
    );
}

#[test]
fn the_code_is_that_of_the_error() {
    let mut report = report(TaskStatus::Failed);
    assert_eq!(report.code(), None);
    report.error = Some(TaskError::new(ErrorCode::StoreFailed, "x"));
    assert_eq!(report.code(), Some(ErrorCode::StoreFailed));
}

#[test]
fn only_a_paused_task_is_answered_and_with_the_token_that_it_gave() {
    for status in STATUSES {
        let mut report = report(status);
        assert_eq!(report.answering("yes"), None, "{status} asks for nothing");
        for (given, expected) in
            [(None, ResumeToken::empty()), (Some(ResumeToken::new(2, "s")), ResumeToken::new(2, "s"))]
        {
            report.pause = Some(Pause::new("?", None, given));
            let request = TaskRequest::new("").with_id("draft").in_session("book").resuming(expected, "yes");
            let expected = status.is_paused().then_some(request);
            assert_eq!(report.answering("yes"), expected, "{status}");
        }
    }
}

#[test]
fn json_takes_no_field_too_many() {
    assert!(with_stranger(&report(TaskStatus::Completed)).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&Pause::new("?", None, None)).starts_with("unknown field `stranger`"));
    assert!(with_stranger(&Timing::default()).starts_with("unknown field `stranger`"));
    let error = TaskError::new(ErrorCode::Cancelled, "stopped");
    assert!(with_stranger(&error).starts_with("unknown field `stranger`"));
}

#[test]
fn a_report_is_written_like_this() {
    let mut report = report(TaskStatus::InputRequired);
    report.attempt = 1;
    report.timing = Timing::new(Duration::from_millis(1), Duration::new(2, 3));
    report.pause = Some(Pause::new("?", Some(json!(1)), Some(ResumeToken::new(1, "s"))));
    report.error = Some(TaskError::new(ErrorCode::Cancelled, "stopped"));
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        json!({
            "task": "draft",
            "session": "book",
            "agent": null,
            "attempt": 1,
            "status": "input_required",
            "output": null,
            "pause": { "prompt": "?", "request": 1, "resume": { "version": 1, "state": "s" } },
            "error": { "code": "cancelled", "message": "stopped" },
            "detached": false,
            "timing": {
                "queued": { "secs": 0, "nanos": 1_000_000 },
                "executed": { "secs": 2, "nanos": 3 },
            },
            "metadata": {},
            "telemetry_errors": 0,
        })
    );
}

fn output() -> impl Strategy<Value = TaskOutput> {
    let artifact = (".{0,6}", prop::option::of(json()), prop::option::of(".{0,6}"));
    (".{0,8}", prop::option::of(json()), artifact, message(), metadata()).prop_map(
        |(text, data, (artifact, artifact_data, media_type), message, metadata)| {
            let mut artifact = Artifact::text("a", artifact).unwrap();
            artifact.data = artifact_data;
            artifact.media_type = media_type;
            let mut output = TaskOutput::text(text).with_artifact(artifact).with_message(message);
            output.data = data;
            output.metadata = metadata;
            output
        },
    )
}

fn error() -> impl Strategy<Value = TaskError> {
    (prop::sample::select(ErrorCode::ALL), ".{0,8}", prop::option::of(".{0,8}")).prop_map(
        |(code, message, detail)| {
            let error = TaskError::new(code, message);
            match detail {
                Some(detail) => error.with_detail(detail),
                None => error,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_report_survives_being_written_and_read(
        ids in (task_id(), session_id(), prop::option::of(agent_id())),
        status in prop::sample::select(&STATUSES[..]),
        output in prop::option::of(output()),
        pause in prop::option::of((".{0,8}", prop::option::of(json()), prop::option::of(token()))),
        error in prop::option::of(error()),
        timing in (duration(), duration()),
        metadata in metadata(),
        counts in (any::<u32>(), any::<u32>(), any::<bool>()),
    ) {
        let mut report = TaskReport::new(ids.0, ids.1, status);
        report.agent = ids.2;
        report.output = output;
        report.pause = pause.map(|(prompt, request, resume)| Pause::new(prompt, request, resume));
        report.error = error;
        report.timing = Timing::new(timing.0, timing.1);
        report.metadata = metadata;
        (report.attempt, report.telemetry_errors, report.detached) = counts;
        assert_round_trip(&report);
    }
}
