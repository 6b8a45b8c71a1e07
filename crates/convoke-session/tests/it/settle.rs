//! The one commit that ends an attempt.

use serde_json::json;

use convoke_core::{AgentId, Artifact, ErrorCode, Message, TaskError, TaskOutput, TaskStatus};
use convoke_session::{Author, Session, SessionLimits, SettleProblem};

use crate::fixtures::{
    agent, artifact, artifact_text, attempt, completed, failed, ids, report, session, session_id, start,
    status, task, texts, working,
};

#[test]
fn a_completed_attempt_publishes_everything_in_one_commit() {
    let session = session();
    let (mut admission, handle) = working(&session, "t");
    handle.post(Message::agent("looking")).unwrap();
    handle.publish(artifact("log", "staged")).unwrap();
    handle.post(Message::agent("found it")).unwrap();
    let before = session.snapshot();
    assert_eq!((before.messages().len(), before.artifacts().len()), (1, 0));

    let output = TaskOutput::text("answer")
        .with_message(Message::agent("a remark"))
        .with_artifact(artifact("result", "returned"));
    let kept = admission.settle(completed(output)).unwrap();
    assert_eq!(kept.task, task("t"));
    assert_eq!(&kept.session, session.id());
    assert_eq!((kept.attempt, kept.agent.as_ref().map(AgentId::as_str)), (1, Some("writer")));

    let after = session.snapshot();
    assert_eq!(after.revision(), before.revision() + 1);
    assert_eq!(texts(&after), ["do it", "looking", "found it", "answer", "a remark"]);
    assert_eq!(ids(&after), ["t/1/input", "t/1/output/1", "t/1/output/2", "t/1/output", "t/1/output/3"]);
    let authors: Vec<_> = after.messages().map(|message| message.author.clone()).collect();
    let writer = Author::Agent(agent("writer"));
    assert_eq!(authors, [Author::Host, writer.clone(), writer.clone(), writer.clone(), writer]);
    assert_eq!(artifact_text(&after, "t", "log").as_deref(), Some("staged"));
    let result = after.artifacts().nth(1).unwrap();
    assert_eq!((result.attempt, result.agent.as_ref()), (1, Some(&agent("writer"))));
    let record = after.task(&task("t")).unwrap();
    assert_eq!((record.status, record.report.as_ref()), (TaskStatus::Completed, Some(&kept)));
}

#[test]
fn only_completed_and_paused_attempts_publish() {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, TimedOut};
    let check = |status: TaskStatus, publishes: bool| {
        let session = session();
        let (mut admission, handle) = working(&session, "t");
        handle.post(Message::agent("staged")).unwrap();
        handle.publish(artifact("staged", "x")).unwrap();
        let mut report = report(status);
        report.output = Some(TaskOutput::text("answer").with_artifact(artifact("returned", "y")));
        let kept = admission.settle(report).unwrap();
        assert_eq!(kept.text(), "answer", "{status}");

        let after = session.snapshot();
        let expected: &[&str] = if publishes { &["do it", "staged", "answer"] } else { &["do it"] };
        assert_eq!(texts(&after), expected, "{status}");
        assert_eq!(after.artifacts().len(), if publishes { 2 } else { 0 }, "{status}");
        assert_eq!(after.usage(), session.snapshot().usage());
    };
    check(Completed, true);
    check(InputRequired, true);
    check(Failed, false);
    check(Blocked, false);
    check(Cancelled, false);
    check(TimedOut, false);
}

#[test]
fn an_empty_answer_leaves_no_message() {
    let check = |output: TaskOutput, expected: &[&str]| {
        let session = session();
        let (mut admission, _) = working(&session, "t");
        admission.settle(completed(output)).unwrap();
        assert_eq!(ids(&session.snapshot())[1..], *expected);
    };
    let mut data = TaskOutput::default();
    data.data = Some(json!({ "found": 3 }));
    check(TaskOutput::default(), &[]);
    check(TaskOutput::default().with_message(Message::agent("x")), &["t/1/output/1"]);
    check(data, &["t/1/output"]);
    check("answer".into(), &["t/1/output"]);
}

#[test]
fn a_refused_artifact_publishes_nothing_and_leaves_the_attempt_open() {
    let limits = SessionLimits::default().with_value_bytes(10);
    let large = || artifact("bad", "x".repeat(11));
    let good = || artifact("good", "fine");
    let returning = |artifacts: Vec<Artifact>| {
        artifacts.into_iter().fold(TaskOutput::text("answer"), TaskOutput::with_artifact)
    };
    let check = |staged: Vec<Artifact>, output: TaskOutput, text: &str| {
        let session = Session::with_limits(session_id(), limits);
        let (mut admission, handle) = working(&session, "t");
        for artifact in staged {
            handle.publish(artifact).unwrap();
        }
        let before = session.snapshot();

        let error = admission.settle(completed(output.clone())).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (ErrorCode::ContractViolation, text));
        assert_eq!(error.report().output, Some(output));
        let after = session.snapshot();
        assert_eq!(after.revision(), before.revision());
        assert!(!handle.is_revoked());

        let task_error = error.to_task_error();
        let mut report = error.into_report();
        report.status = TaskStatus::Failed;
        report.error = Some(task_error);
        let kept = admission.settle(report).unwrap();
        assert_eq!((kept.status, kept.text()), (TaskStatus::Failed, "answer"));
        let after = session.snapshot();
        assert_eq!((texts(&after), after.artifacts().len()), (vec!["do it".to_owned()], 0));
    };
    check(
        vec![],
        returning(vec![good(), large()]),
        "output of attempt 1 of task `t` does not fit: artifact `bad` has 11 bytes, 10 are allowed; \
         split it, or raise `SessionLimits::value_bytes`",
    );
    let repeated = "attempt 1 of task `t` gave artifact `good` more than once; name each differently";
    check(vec![], returning(vec![good(), good()]), repeated);
    check(vec![good()], returning(vec![good()]), repeated);
    check(vec![good(), good()], returning(vec![]), repeated);
    check(
        vec![good()],
        TaskOutput::text("answer").with_message(Message::agent("x".repeat(11))),
        "output of attempt 1 of task `t` does not fit: message has 11 bytes, 10 are allowed; \
         split it, or raise `SessionLimits::value_bytes`",
    );
}

#[test]
fn an_output_without_room_is_session_full_and_stays_in_the_report() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(2));
    let (mut admission, _) = working(&session, "t");
    let output = TaskOutput::text("answer").with_message(Message::agent("more"));
    let error = admission.settle(completed(output)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionFull);
    assert!(matches!(error.problem(), SettleProblem::Output { .. }));

    let mut report = error.into_report();
    report.status = TaskStatus::Failed;
    let kept = admission.settle(report).unwrap();
    assert_eq!((kept.status, kept.text()), (TaskStatus::Failed, "answer"));
    assert_eq!(texts(&session.snapshot()), ["do it"]);
}

#[test]
fn the_first_end_counts() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    let first = admission.settle(report(TaskStatus::Cancelled)).unwrap();
    let before = session.snapshot().revision();
    let error = admission.settle(completed("too late")).unwrap_err();
    assert_eq!(error.to_string(), "attempt 1 of task `t` has already ended; its first report counts");
    assert!(matches!(error.problem(), SettleProblem::Ended { .. }));

    let second = session.admit(attempt("t")).unwrap();
    assert!(admission.settle(completed("later still")).is_err());
    assert_eq!(status(&session, "t"), Some(TaskStatus::Submitted));
    assert_eq!(session.snapshot().revision(), before + 1);
    assert_eq!(second.previous(), Some(first));
}

#[test]
fn transitions_are_those_of_the_state_machine() {
    let statuses = [
        TaskStatus::Submitted,
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Cancelled,
        TaskStatus::TimedOut,
    ];
    for from in [TaskStatus::Submitted, TaskStatus::Working] {
        for to in statuses {
            let session = session();
            let mut admission = session.admit(attempt("t")).unwrap();
            if from == TaskStatus::Working {
                start(&mut admission);
            }
            // A settlement is an end: it never makes a waiting attempt a working one.
            let is_legal = from.can_become(to) && !to.is_active();
            assert_eq!(admission.settle(report(to)).is_ok(), is_legal, "{from} to {to}");
            assert_eq!(status(&session, "t"), Some(if is_legal { to } else { from }));
        }
    }
    let session = session();
    let mut admission = session.admit(attempt("t")).unwrap();
    assert_eq!(
        admission.settle(completed("x")).unwrap_err().to_string(),
        "attempt 1 of task `t` is submitted and cannot become completed; \
         start it first, or settle it as failed, blocked, cancelled or timed_out"
    );
}

#[test]
fn a_later_attempt_replaces_its_own_artifact_and_no_other() {
    let session = session();
    let publish = |id: &str, text: &str, status: TaskStatus| {
        let (mut admission, handle) = working(&session, id);
        handle.publish(artifact("result", text)).unwrap();
        let mut report = report(status);
        report.output = Some(TaskOutput::default());
        admission.settle(report).unwrap();
    };
    publish("a", "first", TaskStatus::InputRequired);
    publish("b", "of b", TaskStatus::InputRequired);
    publish("a", "not this", TaskStatus::Failed);
    publish("a", "second", TaskStatus::Completed);

    let snapshot = session.snapshot();
    let found: Vec<_> = snapshot
        .artifacts()
        .map(|found| (found.task.as_str(), found.attempt, found.artifact.text.as_str()))
        .collect();
    assert_eq!(found, [("a", 3, "second"), ("b", 1, "of b")]);
}

#[test]
fn a_failed_report_keeps_its_error() {
    let session = session();
    let (mut admission, _) = working(&session, "t");
    let error = TaskError::new(ErrorCode::ExecutorPanicked, "executor panicked");
    assert_eq!(admission.settle(failed(error.clone())).unwrap().error, Some(error));
}
