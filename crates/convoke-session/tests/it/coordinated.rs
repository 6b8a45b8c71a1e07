//! Attempts without an agent.

use serde_json::json;

use convoke_core::{ErrorCode, Message, Pause, Resume, ResumeToken, TaskOutput, TaskRequest, TaskStatus};
use convoke_session::{Attempt, Author, LateWriteHook, Session, SessionLimits};

use crate::fixtures::{
    agent, artifact, attempt, completed, ids, now, recording, report, session, session_id, start, task, texts,
};

fn coordinated(id: &str) -> Attempt {
    Attempt::coordinated(task(id), &TaskRequest::new("decide").with_message(Message::user("soon")))
}

/// A task that was asked for so, and has paused.
fn paused(attempt: Attempt, token: Option<ResumeToken>) -> Session {
    let (session, is_coordinated) = (session(), attempt.is_coordinated);
    let mut admission = session.admit(attempt).unwrap();
    if is_coordinated {
        admission.start_coordinated(LateWriteHook::none());
    } else {
        start(&mut admission);
    }
    let mut paused = report(TaskStatus::InputRequired);
    paused.pause = Some(Pause::new("go on?", None, token));
    admission.settle(paused).unwrap();
    session
}

#[test]
fn a_coordinated_attempt_writes_as_the_team_and_leaves_no_input() {
    let session = session();
    let mut admission = session.admit(coordinated("t")).unwrap();
    let handle = admission.start_coordinated(LateWriteHook::none());
    assert_eq!(handle.agent(), None);
    let record = session.snapshot().task(&task("t")).cloned().unwrap();
    assert_eq!((record.status, record.agent), (TaskStatus::Working, None));

    handle.post(Message::agent("asked three")).unwrap();
    handle.publish(artifact("votes", "2 of 3")).unwrap();
    now(handle.set("k", json!(1))).unwrap();
    let output = TaskOutput::text("yes").with_artifact(artifact("reason", "x"));
    let kept = admission.settle(completed(output)).unwrap();
    assert_eq!((kept.agent.as_ref(), kept.status), (None, TaskStatus::Completed));

    let snapshot = session.snapshot();
    assert_eq!(ids(&snapshot), ["t/1/output/1", "t/1/output"]);
    assert!(snapshot.messages().all(|message| message.author == Author::Team));
    assert!(snapshot.artifacts().all(|found| found.agent.is_none()));
    assert_eq!(snapshot.task(&task("t")).unwrap().agent, None);
    assert_eq!(Author::Team.to_string(), "team");
}

#[test]
fn its_input_needs_no_room() {
    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(0));
    let mut admission = session.admit(coordinated("t")).unwrap();
    admission.start_coordinated(LateWriteHook::none());
    admission.settle(completed("")).unwrap();

    let session = Session::with_limits(session_id(), SessionLimits::default().with_messages(1));
    let mut admission = session.admit(attempt("t")).unwrap();
    admission.start_coordinated(LateWriteHook::none());
    now(session.post(Message::user("the room of the input is free"))).unwrap();
    admission.settle(completed("")).unwrap();
    assert_eq!(texts(&session.snapshot()), ["the room of the input is free"]);
}

#[test]
fn its_report_can_be_detached_and_its_late_writes_are_told() {
    let session = session();
    let (hook, told) = recording();
    let mut admission = session.admit(coordinated("t")).unwrap();
    let handle = admission.start_coordinated(hook);
    let mut cancelled = report(TaskStatus::Cancelled);
    cancelled.detached = true;
    assert!(admission.settle(cancelled).unwrap().detached);
    assert_eq!(session.activity().detached, 1);
    handle.post(Message::agent("late")).unwrap_err();
    assert_eq!(told.lock().unwrap()[0].agent, None);
}

#[test]
fn who_starts_first_has_the_attempt() {
    let session = session();
    let mut admission = session.admit(coordinated("t")).unwrap();
    admission.start_coordinated(LateWriteHook::none());
    assert_eq!(start(&mut admission).agent(), None);

    let mut admission = session.admit(attempt("u")).unwrap();
    start(&mut admission);
    let handle = admission.start_coordinated(LateWriteHook::none());
    assert_eq!(handle.agent(), Some(&agent("writer")));
    assert_eq!(texts(&session.snapshot()), ["do it"]);
}

#[test]
fn a_pause_without_an_agent_goes_on_at_none() {
    let session = paused(coordinated("t"), Some(ResumeToken::new(1, "state")));
    let request = TaskRequest::new("").resuming(ResumeToken::new(1, "state"), "yes");
    let attempt = Attempt::coordinated(task("t"), &request);
    assert_eq!(attempt.resume, Some(Resume::new(ResumeToken::new(1, "state"), "yes")));
    let admission = session.admit(attempt).unwrap();
    assert_eq!((admission.attempt(), admission.required_agent()), (2, None));
    assert_eq!(session.snapshot().messages().len(), 0);
}

#[test]
fn a_pause_is_answered_by_the_kind_of_worker_that_had_it() {
    let token = ResumeToken::new(1, "state");
    let check = |had: fn(&TaskRequest) -> Attempt, other: fn(&TaskRequest) -> Attempt, text: &str| {
        for kept in [Some(token.clone()), None] {
            let sent = kept.clone().unwrap_or_else(ResumeToken::empty);
            let answer = TaskRequest::new("").resuming(sent, "yes");
            let session = paused(had(&TaskRequest::new("go")), kept.clone());
            // The second time after an attempt that gave the pause back.
            for round in 0..2 {
                let before = session.snapshot();
                let error = session.admit(other(&answer)).unwrap_err();
                assert_eq!((error.code(), error.to_string().as_str()), (ErrorCode::InvalidRequest, text));
                let after = session.snapshot();
                assert_eq!(after.revision(), before.revision());
                assert_eq!(after.task(&task("t")), before.task(&task("t")));
                assert_eq!(after.task(&task("t")).unwrap().resume_token(), kept.as_ref());
                assert_eq!(session.admit(had(&answer)).unwrap().attempt(), round + 2);
            }
            // Without an answer it is begun anew, which anybody may where there is no token.
            let plain = session.admit(other(&TaskRequest::new("go")));
            assert_eq!(plain.is_ok(), kept.is_none());
        }
    };
    let ran = |request: &TaskRequest| Attempt::of_request(task("t"), request);
    let coordinated = |request: &TaskRequest| Attempt::coordinated(task("t"), request);
    check(
        ran,
        coordinated,
        "task `t` paused in attempt 1 at agent `writer`, which alone takes its answer; \
         run the request, do not coordinate it",
    );
    check(
        coordinated,
        ran,
        "task `t` paused in attempt 1 as a coordinated task, whose answer no agent takes; \
         coordinate the request, do not run it",
    );
}

#[test]
fn an_attempt_is_coordinated_where_it_is_made_so_alone() {
    let request = TaskRequest::new("x");
    assert!(Attempt::coordinated(task("t"), &request).is_coordinated);
    assert!(!Attempt::of_request(task("t"), &request).is_coordinated);
    assert!(!attempt("t").is_coordinated);
}
