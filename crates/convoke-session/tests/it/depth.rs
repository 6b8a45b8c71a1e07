//! How deep data may nest, wherever it enters.

use convoke_core::{
    ErrorCode, MAX_JSON_DEPTH, Message, Pause, ResumeToken, TaskError, TaskOutput, TaskStatus,
};
use convoke_session::{AdmissionError, Oversized, SessionError, SettleProblem};
use serde_json::Value;

use crate::fixtures::{artifact, attempt, completed, failed, now, report, session, task, working};

/// A value that nests so deep.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]))
}

fn message(levels: usize) -> Message {
    Message::agent("x").with_data(nested(levels))
}

#[test]
fn a_write_is_refused_that_nests_too_deep() {
    let session = session();
    let (_admission, handle) = working(&session, "t");
    let shallow = MAX_JSON_DEPTH;
    now(session.post(message(shallow))).unwrap();
    now(session.set("key", nested(shallow))).unwrap();
    now(session.set_metadata("key", nested(shallow))).unwrap();
    handle.post(message(shallow)).unwrap();
    let mut file = artifact("file", "x");
    file.data = Some(nested(shallow));
    handle.publish(file.clone()).unwrap();

    let before = session.snapshot();
    file.data = Some(nested(shallow + 1));
    let refused = [
        now(session.post(message(shallow + 1))).map(drop),
        now(session.set("key", nested(shallow + 1))).map(drop),
        now(session.update("key", |_| nested(shallow + 1))).map(drop),
        now(session.set_metadata("key", nested(shallow + 1))),
        handle.post(message(shallow + 1)).map(drop),
        handle.publish(file.clone()),
    ];
    let key = || "key".to_owned();
    let what = [
        Oversized::Message,
        Oversized::State(key()),
        Oversized::State(key()),
        Oversized::Metadata(key()),
        Oversized::Message,
        Oversized::Artifact(file.id),
    ];
    assert_eq!(refused, what.map(|what| Err(SessionError::TooDeep { what })));
    assert_eq!(session.snapshot().revision(), before.revision());
    let text = SessionError::TooDeep { what: Oversized::State(key()) }.to_string();
    assert_eq!(text, "value of `key` nests more than 96 levels deep; flatten it");
}

#[test]
fn an_input_is_refused_that_nests_too_deep() {
    let session = session();
    let refused = session.admit(attempt("t").with_message(message(MAX_JSON_DEPTH + 1))).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidRequest);
    let problem = SessionError::TooDeep { what: Oversized::Message };
    assert_eq!(refused, AdmissionError::Input { task: task("t"), problem });
    assert!(session.admit(attempt("t").with_message(message(MAX_JSON_DEPTH))).is_ok());
}

#[test]
fn a_report_is_refused_that_nests_too_deep_whatever_its_status() {
    let reports = |levels| {
        let paused = |request, token| {
            let mut paused = report(TaskStatus::InputRequired);
            paused.pause = Some(Pause::new("which?", request, token));
            paused
        };
        let mut broken = failed(TaskError::new(ErrorCode::ExecutionFailed, "broken"));
        broken.output = Some(TaskOutput::default().with_metadata("key", nested(levels)));
        let mut host = completed("done");
        host.metadata.insert("key".into(), nested(levels));
        let token = ResumeToken::new(1, nested(levels));
        [
            completed(TaskOutput::default().with_message(message(levels))),
            paused(Some(nested(levels)), None),
            paused(None, Some(token)),
            broken,
            host,
        ]
    };
    for report in reports(MAX_JSON_DEPTH) {
        let session = session();
        let (mut admission, _handle) = working(&session, "t");
        admission.settle(report).unwrap();
    }
    for report in reports(MAX_JSON_DEPTH + 1) {
        let session = session();
        let (mut admission, _handle) = working(&session, "t");
        let refused = admission.settle(report).unwrap_err();
        assert_eq!(refused.problem(), &SettleProblem::TooDeep { task: task("t"), attempt: 1 });
        assert_eq!(refused.code(), ErrorCode::ContractViolation);
        assert_eq!(session.snapshot().task(&task("t")).map(|task| task.status), Some(TaskStatus::Working));
        admission.settle(failed(refused.to_task_error())).unwrap();
    }
}

#[test]
fn a_late_report_is_not_kept_that_nests_too_deep() {
    for (levels, is_kept) in [(MAX_JSON_DEPTH, true), (MAX_JSON_DEPTH + 1, false)] {
        let session = session();
        let (mut admission, _handle) = working(&session, "t");
        let mut given_up = report(TaskStatus::TimedOut);
        given_up.detached = true;
        admission.settle(given_up).unwrap();
        let late = completed(TaskOutput::default().with_message(message(levels)));
        assert!(session.detached_ended(&task("t"), 1, Some(late)));
        assert_eq!(session.activity().late, usize::from(is_kept));
    }
}
