//! The models.

#![expect(clippy::unwrap_used, reason = "a model is a test")]

use convoke_models::Model;
use serde_json::{Value, json};
use shuttle::{future::block_on, thread};

use convoke_core::{AgentId, Message, SessionId, TaskId, TaskReport, TaskStatus};

use crate::{Admission, AdmissionError, Attempt, LateWriteHook, Session, SessionError};

pub(crate) const ALL: [Model; 6] = [
    ("session: of two admissions of one id exactly one", two_admissions),
    ("session: an admission while the one before is given up", given_up),
    ("session: an admission while the one before is settled", settled),
    ("session: a completed record has its output for every reader", completed_with_output),
    ("session: a write while the attempt is settled is in time or revoked", late_write),
    ("session: no update of shared state is lost", no_update_is_lost),
];

fn session() -> Session {
    Session::new(SessionId::new("s").unwrap())
}

fn task() -> TaskId {
    TaskId::new("t").unwrap()
}

fn admit(session: &Session) -> Result<Admission, AdmissionError> {
    session.admit(Attempt::new(task()).with_message(Message::user("go")))
}

fn complete(admission: &mut Admission) {
    let mut report = TaskReport::new(task(), admission.session().id().clone(), TaskStatus::Completed);
    report.output = Some("done".into());
    admission.settle(report).unwrap();
}

fn status(session: &Session) -> TaskStatus {
    session.snapshot().task(&task()).unwrap().status
}

fn two_admissions() {
    let session = session();
    let admitting: Vec<_> = (0..2)
        .map(|_| {
            let session = session.clone();
            thread::spawn(move || admit(&session))
        })
        .collect();
    let admissions: Vec<_> = admitting.into_iter().map(|one| one.join().unwrap()).collect();
    assert_eq!(admissions.iter().filter(|one| one.is_ok()).count(), 1);
    assert_eq!(session.activity().active, 1);
    drop(admissions);
    assert!(session.is_idle());
    assert_eq!(session.snapshot().task(&task()).unwrap().attempt, 1);
}

fn given_up() {
    let session = session();
    let first = admit(&session).unwrap();
    let dropping = thread::spawn(move || drop(first));
    let second = admit(&session);
    dropping.join().unwrap();
    match second {
        Ok(second) => assert_eq!((second.attempt(), status(&session)), (2, TaskStatus::Submitted)),
        Err(refusal) => {
            assert!(matches!(refusal, AdmissionError::Status { .. }), "{refusal}");
            assert_eq!(status(&session), TaskStatus::Failed);
            assert_eq!(admit(&session).unwrap().attempt(), 2);
        }
    }
    assert!(session.is_idle());
}

fn settled() {
    let session = session();
    let mut first = admit(&session).unwrap();
    first.start(&AgentId::new("a").unwrap(), LateWriteHook::none());
    let settling = thread::spawn(move || complete(&mut first));
    assert!(admit(&session).is_err(), "working, or completed");
    settling.join().unwrap();
    assert_eq!(status(&session), TaskStatus::Completed);
    assert_eq!(session.snapshot().task(&task()).unwrap().attempt, 1);
}

fn completed_with_output() {
    let session = session();
    let mut admission = admit(&session).unwrap();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let session = session.clone();
            thread::spawn(move || {
                for _ in 0..3 {
                    let snapshot = session.snapshot();
                    let is_completed = snapshot.task(&task()).unwrap().status == TaskStatus::Completed;
                    let has_output = snapshot.messages().any(|message| message.message.text == "done");
                    assert_eq!(is_completed, has_output);
                }
            })
        })
        .collect();
    admission.start(&AgentId::new("a").unwrap(), LateWriteHook::none());
    complete(&mut admission);
    for reader in readers {
        reader.join().unwrap();
    }
}

fn late_write() {
    let session = session();
    let mut admission = admit(&session).unwrap();
    let handle = admission.start(&AgentId::new("a").unwrap(), LateWriteHook::none());
    let writing = thread::spawn(move || {
        let staged = handle.post(Message::agent("found"));
        (staged.is_ok(), block_on(handle.set("k", json!(1))))
    });
    complete(&mut admission);
    let late = admission.start(&AgentId::new("a").unwrap(), LateWriteHook::none());
    assert!(matches!(block_on(late.set("late", json!(1))), Err(SessionError::Revoked { .. })));
    let (is_staged, set) = writing.join().unwrap();
    assert_eq!(session.get("k").is_some(), set.is_ok());
    assert!(set.is_ok() || matches!(set, Err(SessionError::Revoked { .. })), "{set:?}");
    assert_eq!(session.snapshot().messages().any(|message| message.message.text == "found"), is_staged);
}

fn no_update_is_lost() {
    let session = session();
    let count = |value: Option<&Value>| json!(value.and_then(Value::as_u64).unwrap_or(0) + 1);
    let counting: Vec<_> = (0..3)
        .map(|_| {
            let session = session.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    block_on(session.update("n", count)).unwrap();
                }
            })
        })
        .collect();
    for one in counting {
        one.join().unwrap();
    }
    assert_eq!(session.get("n").map(|entry| entry.value), Some(json!(6)));
}
