//! Many writers and readers at once.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use convoke_core::{Message, TaskStatus};
use convoke_session::{AdmissionOptions, Attempt, Expected, LateWriteHook, Reconcile, SessionError};

use crate::fixtures::{
    agent, artifact, artifact_text, attempt, completed, end_late, now, recording, session, task,
};

/// Tells the other threads that this one is over, however it ends: nobody waits for a test that failed.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn increments_from_many_threads_all_count() {
    let session = session();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    loop {
                        let found = session.get("n");
                        let next = found.as_ref().and_then(|entry| entry.value.as_u64()).unwrap_or(0) + 1;
                        let expected = Expected::of(found.as_ref());
                        match now(session.compare_and_set("n", expected, json!(next))) {
                            Ok(_) => break,
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(session.get("n").unwrap().value, json!(8_000));
    assert_eq!(session.snapshot().revision(), 8_000);
}

#[test]
fn updates_from_agents_all_count() {
    let session = session();
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let mut admission = session.admit(Attempt::new(task(name))).unwrap();
            scope.spawn(move || {
                let handle = admission.start(&agent(name), LateWriteHook::none());
                for _ in 0..1_000 {
                    let increment =
                        |found: Option<&Value>| json!(found.and_then(Value::as_u64).unwrap_or(0) + 1);
                    now(handle.update("n", increment)).unwrap();
                }
                admission.settle(completed("")).unwrap();
            });
        }
    });
    assert_eq!(session.get("n").unwrap().value, json!(8_000));
    assert!(session.is_idle());
}

#[test]
fn no_reader_sees_a_completed_task_without_its_output() {
    let session = session();
    let is_done = AtomicBool::new(false);
    let begin = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                begin.wait();
                let mut revision = 0;
                while !is_done.load(Ordering::Acquire) {
                    let snapshot = session.snapshot();
                    assert!(snapshot.revision() >= revision);
                    revision = snapshot.revision();
                    for (task, record) in snapshot.tasks() {
                        let outputs = snapshot
                            .messages()
                            .filter(|message| message.id.as_str() == format!("{task}/1/output"))
                            .count();
                        let expected = usize::from(record.status == TaskStatus::Completed);
                        assert_eq!(outputs, expected, "{task} is {}", record.status);
                        let artifact = artifact_text(&snapshot, task.as_str(), "a");
                        assert_eq!(artifact.is_some(), expected == 1, "{task}");
                    }
                }
            });
        }
        scope.spawn(|| {
            begin.wait();
            let _over = Over(&is_done);
            for number in 0..100 {
                let name = format!("t{number}");
                let mut admission = session.admit(attempt(&name)).unwrap();
                let handle = admission.start(&agent("writer"), LateWriteHook::none());
                handle.publish(artifact("a", "x")).unwrap();
                admission.settle(completed("answer")).unwrap();
            }
        });
    });
    assert_eq!(session.snapshot().tasks().len(), 100);
}

#[test]
fn a_write_is_either_before_the_settlement_or_refused() {
    for round in 0..50 {
        let session = session();
        let (hook, told) = recording();
        let mut admission = session.admit(Attempt::new(task("t"))).unwrap();
        let handle = admission.start(&agent("writer"), hook);
        let is_settled = AtomicBool::new(false);
        let begin = Barrier::new(3);
        let write = || {
            begin.wait();
            let mut accepted = 0;
            loop {
                // Read before the write: what comes after the settlement must be refused.
                let is_late = is_settled.load(Ordering::Acquire);
                match handle.post(Message::agent("staged")) {
                    Err(SessionError::Revoked { .. }) => return accepted,
                    result if is_late => panic!("after the settlement: {result:?}"),
                    Ok(_) => accepted += 1,
                    Err(SessionError::Full { .. }) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let accepted: usize = thread::scope(|scope| {
            let writers = [scope.spawn(write), scope.spawn(write)];
            scope.spawn(|| {
                begin.wait();
                let _over = Over(&is_settled);
                for _ in 0..round {
                    thread::yield_now();
                }
                admission.settle(completed("")).unwrap();
            });
            writers.into_iter().map(|writer| writer.join().unwrap()).sum()
        });
        assert_eq!(session.snapshot().messages().len(), accepted);
        assert_eq!(told.lock().unwrap().len(), 2);
    }
}

#[test]
fn one_of_many_admissions_of_an_id_wins() {
    let session = session();
    let begin = Barrier::new(4);
    let admitted: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    begin.wait();
                    session.admit(attempt("t")).ok()
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(admitted.len(), 1);
    assert_eq!(session.activity().active, 1);
}

#[test]
fn of_many_decisions_about_late_work_one_counts() {
    for _ in 0..100 {
        let session = session();
        end_late(&session, "t", TaskStatus::TimedOut, completed("late"));
        let begin = Barrier::new(4);
        let admitted: Vec<_> = thread::scope(|scope| {
            let decide = |late: Reconcile| {
                let (session, begin) = (&session, &begin);
                scope.spawn(move || {
                    begin.wait();
                    session.admit_with(attempt("t"), AdmissionOptions::default().with_late(late)).ok()
                })
            };
            let threads = [Reconcile::Retry, Reconcile::AcceptLate, Reconcile::Retry, Reconcile::AcceptLate];
            let threads = threads.map(decide);
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(admitted.len(), 1);
        assert_eq!(session.activity().late, 0);
    }
}
