//! What the tests share: ids, reports, and a way to carry out a write on the spot.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use convoke_core::{
    AgentId, Artifact, ArtifactId, Message, SessionId, TaskError, TaskId, TaskOutput, TaskReport, TaskStatus,
};
use convoke_session::{
    Admission, Attempt, LateWrite, LateWriteHook, Session, SessionHandle, SessionSnapshot, StateEntry,
    TaskRecord,
};

/// The result of a write: each is done when it was polled once.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a write waits for nothing"),
    }
}

pub(crate) fn session() -> Session {
    Session::new(session_id())
}

pub(crate) fn session_id() -> SessionId {
    SessionId::new("s").unwrap()
}

pub(crate) fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn agent(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

pub(crate) fn artifact(id: &str, text: impl Into<String>) -> Artifact {
    Artifact::text(id, text).unwrap()
}

pub(crate) fn attempt(id: &str) -> Attempt {
    Attempt::new(task(id)).with_message(Message::user("do it"))
}

/// A report of which the session fills in the rest.
pub(crate) fn report(status: TaskStatus) -> TaskReport {
    TaskReport::new(task("another"), SessionId::new("another").unwrap(), status)
}

pub(crate) fn completed(output: impl Into<TaskOutput>) -> TaskReport {
    let mut report = report(TaskStatus::Completed);
    report.output = Some(output.into());
    report
}

pub(crate) fn failed(error: TaskError) -> TaskReport {
    let mut report = report(TaskStatus::Failed);
    report.error = Some(error);
    report
}

pub(crate) fn start(admission: &mut Admission) -> SessionHandle {
    admission.start(&agent("writer"), LateWriteHook::none())
}

/// An attempt that is being worked on.
pub(crate) fn working(session: &Session, id: &str) -> (Admission, SessionHandle) {
    let mut admission = session.admit(attempt(id)).unwrap();
    let handle = start(&mut admission);
    (admission, handle)
}

/// A task whose latest attempt ended, or stands, so. What keeps it there comes with it.
pub(crate) fn reach(session: &Session, id: &str, status: TaskStatus) -> Option<Admission> {
    let mut admission = session.admit(attempt(id)).unwrap();
    if status == TaskStatus::Submitted {
        return Some(admission);
    }
    start(&mut admission);
    if status == TaskStatus::Working {
        return Some(admission);
    }
    admission.settle(report(status)).unwrap();
    None
}

/// A task whose attempt ended so while its work went on, detached. The agent had staged a message.
pub(crate) fn give_up(session: &Session, id: &str, status: TaskStatus) -> u32 {
    let (mut admission, handle) = working(session, id);
    handle.post(Message::agent("staged")).unwrap();
    let mut report = report(status);
    report.detached = true;
    admission.settle(report).unwrap().attempt
}

/// A task that was given up so, and whose work has ended late with this report.
pub(crate) fn end_late(session: &Session, id: &str, status: TaskStatus, late: TaskReport) {
    let attempt = give_up(session, id, status);
    assert!(session.detached_ended(&task(id), attempt, Some(late)));
}

pub(crate) fn record(session: &Session, id: &str) -> TaskRecord {
    session.snapshot().task(&task(id)).cloned().unwrap()
}

pub(crate) fn texts(snapshot: &SessionSnapshot) -> Vec<String> {
    snapshot.messages().map(|message| message.message.text.clone()).collect()
}

pub(crate) fn ids(snapshot: &SessionSnapshot) -> Vec<String> {
    snapshot.messages().map(|message| message.id.to_string()).collect()
}

pub(crate) fn artifact_text(snapshot: &SessionSnapshot, task_id: &str, id: &str) -> Option<String> {
    let id = ArtifactId::new(id).unwrap();
    snapshot.artifact(&task(task_id), &id).map(|found| found.artifact.text.clone())
}

pub(crate) fn status(session: &Session, id: &str) -> Option<TaskStatus> {
    session.snapshot().task(&task(id)).map(|record| record.status)
}

pub(crate) fn value_and_revision(entry: Option<&StateEntry>) -> Option<(String, u64)> {
    entry.map(|entry| (entry.value.to_string(), entry.revision))
}

/// A hook that remembers.
pub(crate) fn recording() -> (LateWriteHook, Arc<Mutex<Vec<LateWrite>>>) {
    let writes = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&writes);
    (LateWriteHook::new(move |write| into.lock().unwrap().push(write.clone())), writes)
}
