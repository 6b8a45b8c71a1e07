//! Pauses: their tokens, who goes on, and what happens where nobody does.

use serde_json::json;

use convoke_core::{ErrorCode, Message, Pause, Resume, ResumeToken, TaskReport, TaskStatus};
use convoke_session::{Attempt, LateWriteHook, Session};

use crate::fixtures::{agent, attempt, completed, report, session, start, status, task};

fn token(state: &str) -> ResumeToken {
    ResumeToken::new(1, state)
}

fn resuming(token: ResumeToken) -> Attempt {
    attempt("t").resuming(Resume::new(token, "yes"))
}

fn pause(token: Option<ResumeToken>) -> TaskReport {
    let mut paused = report(TaskStatus::InputRequired);
    paused.pause = Some(Pause::new("go on?", None, token));
    paused
}

/// A task `t` that agent `asker` paused.
fn paused(token: Option<ResumeToken>) -> Session {
    let session = session();
    let mut admission = session.admit(attempt("t")).unwrap();
    admission.start(&agent("asker"), LateWriteHook::none());
    admission.settle(pause(token)).unwrap();
    session
}

#[test]
fn a_request_fits_its_pause_or_is_refused() {
    let empty = ResumeToken::empty();
    let check = |recorded: Option<ResumeToken>, sent: Option<ResumeToken>, expected: Result<(), &str>| {
        let session = paused(recorded);
        let before = session.snapshot();
        let asks = sent.map_or_else(|| attempt("t"), resuming);
        match (session.admit(asks), expected) {
            (Ok(admission), Ok(())) => assert_eq!(admission.attempt(), 2),
            (Err(error), Err(text)) => {
                assert_eq!((error.code(), error.to_string().as_str()), (ErrorCode::InvalidRequest, text));
                assert_eq!(session.snapshot().revision(), before.revision());
            }
            (actual, expected) => panic!("{actual:?}, expected {expected:?}"),
        }
    };
    let mismatch =
        "resume token is not the one that task `t` paused with in attempt 1; take it from that report";
    check(Some(token("a")), Some(token("a")), Ok(()));
    check(Some(token("a")), Some(token("b")), Err(mismatch));
    check(Some(token("a")), Some(ResumeToken::new(2, "a")), Err(mismatch));
    check(Some(token("a")), Some(empty.clone()), Err(mismatch));
    check(
        Some(token("a")),
        None,
        Err("task `t` paused in attempt 1 with a resume token; send it back with the answer"),
    );
    check(None, None, Ok(()));
    check(None, Some(empty), Ok(()));
    check(None, Some(token("a")), Err(mismatch));
}

#[test]
fn there_is_nothing_to_resume_but_a_pause() {
    let session = session();
    let unknown = session.admit(resuming(token("a"))).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "task `t` is not known here, so there is nothing to resume; send the request without `resume`"
    );
    assert_eq!(session.snapshot().task(&task("t")), None);

    let mut admission = session.admit(attempt("t")).unwrap();
    admission.settle(report(TaskStatus::Failed)).unwrap();
    let failed = session.admit(resuming(token("a"))).unwrap_err();
    assert_eq!(failed.code(), ErrorCode::InvalidRequest);
    assert_eq!(
        failed.to_string(),
        "task `t` is failed, so there is nothing to resume; send the request without `resume`"
    );
}

#[test]
fn an_answer_goes_to_the_agent_that_asked() {
    let session = paused(Some(token("a")));
    let mut admission = session.admit(resuming(token("a"))).unwrap();
    assert_eq!(admission.required_agent(), Some(agent("asker")));
    assert_eq!(admission.previous().unwrap().pause.as_ref().unwrap().prompt, "go on?");
    start(&mut admission);
    admission.settle(completed("done")).unwrap();
    assert_eq!(status(&session, "t"), Some(TaskStatus::Completed));

    let plain = paused(None);
    assert_eq!(plain.admit(attempt("t")).unwrap().required_agent(), None);
    let answered = plain.admit(resuming(ResumeToken::empty())).unwrap();
    assert_eq!(answered.required_agent(), Some(agent("asker")));
}

#[test]
fn a_token_is_consumed_by_the_start() {
    let session = paused(Some(token("a")));
    let mut admission = session.admit(resuming(token("a"))).unwrap();
    start(&mut admission);
    admission.settle(pause(Some(token("b")))).unwrap();

    assert_eq!(session.snapshot().task(&task("t")).unwrap().resume_token(), Some(&token("b")));
    assert!(session.admit(resuming(token("a"))).is_err());
    let mut admission = session.admit(resuming(token("b"))).unwrap();
    start(&mut admission);
    admission.settle(report(TaskStatus::Failed)).unwrap();
    assert!(session.admit(resuming(token("b"))).is_err());
    assert_eq!(session.admit(attempt("t")).unwrap().attempt(), 4);
}

#[test]
fn an_end_before_the_start_puts_the_pause_back() {
    let ends = [None, Some(TaskStatus::Blocked), Some(TaskStatus::Cancelled), Some(TaskStatus::TimedOut)];
    for end in ends {
        let session = paused(Some(token("a")));
        let first = session.snapshot().task(&task("t")).cloned().unwrap();
        let mut admission = session.admit(resuming(token("a"))).unwrap();
        assert_eq!(session.snapshot().task(&task("t")).unwrap().resume_token(), None);
        if let Some(end) = end {
            let given = admission.settle(report(end)).unwrap();
            assert_eq!((given.status, given.attempt), (end, 2));
        }
        drop(admission);

        let snapshot = session.snapshot();
        let record = snapshot.task(&task("t")).unwrap();
        assert_eq!((record.status, record.attempt), (TaskStatus::InputRequired, 2));
        assert_eq!((&record.report, &record.agent), (&first.report, &first.agent));
        assert_eq!(record.resume_token(), Some(&token("a")));
        assert_eq!(session.activity().paused, 1);
        let error = session.admit(attempt("t")).unwrap_err();
        assert!(error.to_string().contains("in attempt 1 "), "{error}");

        let admission = session.admit(resuming(token("a"))).unwrap();
        assert_eq!((admission.attempt(), admission.required_agent()), (3, Some(agent("asker"))));
    }
}

#[test]
fn the_answer_is_input() {
    let session = paused(Some(token("a")));
    let answer = Message::user("").with_data(json!("yes"));
    let attempt =
        Attempt::new(task("t")).with_message(answer.clone()).resuming(Resume::new(token("a"), "yes"));
    let mut admission = session.admit(attempt).unwrap();
    start(&mut admission);
    let snapshot = session.snapshot();
    let last = snapshot.messages().next_back().unwrap();
    assert_eq!((last.id.as_str(), &last.message), ("t/2/input", &answer));
}
