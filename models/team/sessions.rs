//! The sessions of a runtime: admission against removal, as they ship, in many interleavings.

#![expect(
    unreachable_pub,
    dead_code,
    reason = "the module is one of a library, of which the models use a part"
)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a model is a test")]

extern crate convoke_models as parking_lot;

#[path = "../../crates/convoke-team/src"]
mod source {
    pub(crate) mod sessions;
}

use std::sync::Arc;

use convoke_models::Model;
use shuttle::thread;

use convoke_core::{SessionId, TaskError, TaskId};
use convoke_session::{Admission, AdmissionOptions, Admitted, Attempt, Limit, SessionLimits};
use source::sessions::{Lifetime, SessionAdminError, Sessions};

const MODELS: [Model; 4] = [
    ("sessions: an admission while its session is removed", admission_and_removal),
    ("sessions: an admission while the last work of its session ends", admission_and_end),
    ("sessions: of two admissions of one id in a new session exactly one", two_admissions),
    ("sessions: of two that create one exactly one", two_creations),
];

fn main() {
    convoke_models::run(&MODELS);
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

/// A runtime's sessions.
fn sessions() -> Arc<Sessions> {
    Arc::new(Sessions::new(SessionLimits::default(), Limit::Unlimited))
}

fn admit(sessions: &Sessions, task: &str) -> Result<Admission, TaskError> {
    let attempt = Attempt::new(TaskId::new(task).unwrap());
    match sessions.admit(&session(), Lifetime::OfItsWork, attempt, AdmissionOptions::default())? {
        Admitted::Attempt(admission) => Ok(admission),
        Admitted::Recorded(_) | Admitted::Accepted(_) => unreachable!("nothing was asked for but an attempt"),
    }
}

/// What was admitted is in the session that the runtime has.
fn is_kept(sessions: &Sessions, admission: &Admission) {
    let kept = sessions.get("s").expect("the session of an open task is kept");
    assert!(kept.snapshot().task(admission.task()).is_some(), "another session has its name");
}

fn admission_and_removal() {
    let sessions = sessions();
    sessions.create(session()).unwrap();
    let host = Arc::clone(&sessions);
    let host = thread::spawn(move || host.remove("s"));
    let admission = admit(&sessions, "t").unwrap();
    let removed = host.join().unwrap();
    assert!(removed.is_ok() || matches!(removed, Err(SessionAdminError::InUse { .. })), "{removed:?}");
    is_kept(&sessions, &admission);
}

fn admission_and_end() {
    let sessions = sessions();
    let last = admit(&sessions, "last").unwrap();
    let ending = Arc::clone(&sessions);
    let ending = thread::spawn(move || {
        drop(last);
        ending.end_if_over(&session());
    });
    let admission = admit(&sessions, "t").unwrap();
    ending.join().unwrap();
    is_kept(&sessions, &admission);
    drop(admission);
    sessions.end_if_over(&session());
    assert_eq!(sessions.len(), 0);
}

fn two_admissions() {
    let sessions = sessions();
    let other = Arc::clone(&sessions);
    let other = thread::spawn(move || admit(&other, "t"));
    let admissions = [admit(&sessions, "t"), other.join().unwrap()];
    assert_eq!(admissions.iter().flatten().count(), 1);
    admissions.iter().flatten().for_each(|admission| is_kept(&sessions, admission));
}

fn two_creations() {
    let sessions = sessions();
    let other = Arc::clone(&sessions);
    let other = thread::spawn(move || other.create(session()).is_ok());
    let created = sessions.create(session()).is_ok();
    assert!(created != other.join().unwrap());
    assert_eq!(sessions.len(), 1);
}
