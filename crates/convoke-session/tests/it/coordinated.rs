//! Attempts without an agent.

use serde_json::json;

use convoke_core::{Message, Pause, Resume, ResumeToken, TaskOutput, TaskRequest, TaskStatus};
use convoke_session::{Attempt, Author, LateWriteHook, Session, SessionLimits};

use crate::fixtures::{
    agent, artifact, attempt, completed, ids, now, recording, report, session, session_id, start, task, texts,
};

fn coordinated(id: &str) -> Attempt {
    Attempt::coordinated(task(id), &TaskRequest::new("decide").with_message(Message::user("soon")))
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
    let session = session();
    let mut admission = session.admit(coordinated("t")).unwrap();
    admission.start_coordinated(LateWriteHook::none());
    let mut paused = report(TaskStatus::InputRequired);
    paused.pause = Some(Pause::new("go on?", None, Some(ResumeToken::new(1, "state"))));
    admission.settle(paused).unwrap();

    let request = TaskRequest::new("").resuming(ResumeToken::new(1, "state"), "yes");
    let attempt = Attempt::coordinated(task("t"), &request);
    assert_eq!(attempt.resume, Some(Resume::new(ResumeToken::new(1, "state"), "yes")));
    let admission = session.admit(attempt).unwrap();
    assert_eq!((admission.attempt(), admission.required_agent()), (2, None));
    assert_eq!(session.snapshot().messages().len(), 0);
}
