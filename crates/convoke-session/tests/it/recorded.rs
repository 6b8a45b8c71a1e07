//! Sessions with a log: what is visible when, what a failure leaves, and what is found when one is loaded.

use std::{future::pending, time::Duration};

use convoke_core::{
    AnyJournal, Artifact, ErrorCode, Journal, MAX_JSON_DEPTH, Message, OwnerId, Pause, Resume, ResumeToken,
    TaskOutput, TaskReport, TaskStatus,
};
use convoke_journal::MemoryJournal;
use convoke_session::{
    Admission, AdmissionError, AdmissionOptions, Admitted, Attempt, Expected, LateWriteHook, Recorder,
    Session, SessionError, SessionLimits, SessionStore, SettleProblem, StoreErrorKind,
};
use convoke_testkit::{FaultyJournal, JournalFault};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::advance};

use crate::fixtures::{agent, completed, record, report, session_id, task, texts};

type Faulty = FaultyJournal<MemoryJournal>;

fn store(journal: &Faulty, owner: &str) -> SessionStore {
    SessionStore::new(AnyJournal::new(journal.clone()), OwnerId::new(owner).unwrap())
}

async fn load(journal: &Faulty, owner: &str) -> (Session, Recorder) {
    store(journal, owner).open(&session_id(), SessionLimits::default()).await.unwrap()
}

/// A session that is recorded, by an owner called `one`.
async fn open(journal: &Faulty) -> (Session, JoinHandle<()>) {
    let (session, recorder) = load(journal, "one").await;
    (session, tokio::spawn(recorder.run(pending)))
}

/// The process is gone, and so is its claim.
async fn kill(session: Session, recording: JoinHandle<()>) {
    recording.abort();
    assert!(recording.await.unwrap_err().is_cancelled());
    drop(session);
}

async fn admit(session: &Session, attempt: Attempt) -> Result<Admission, AdmissionError> {
    match session.admit_recorded(attempt, AdmissionOptions::default()).await? {
        Admitted::Attempt(admission) => Ok(admission),
        other => panic!("{other:?}"),
    }
}

fn attempt() -> Attempt {
    Attempt::new(task("t")).with_message(Message::user("do it"))
}

async fn working(session: &Session) -> Admission {
    let mut admission = admit(session, attempt()).await.unwrap();
    admission.start_recorded(Some(&agent("writer")), LateWriteHook::none()).await.unwrap();
    admission
}

fn paused() -> TaskReport {
    let mut paused = report(TaskStatus::InputRequired);
    paused.pause = Some(Pause::new("go on?", None, Some(ResumeToken::new(1, "half"))));
    paused
}

fn code(session: &Session) -> Option<ErrorCode> {
    record(session, "t").report.and_then(|report| report.code())
}

#[tokio::test]
async fn a_write_is_visible_once_it_is_in_the_log_and_not_before() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recorder) = load(&journal, "one").await;
    let first = tokio::spawn(session.post(Message::user("first")));
    let second = tokio::spawn(session.post(Message::user("second")));
    tokio::task::yield_now().await;
    assert_eq!((session.snapshot().revision(), session.is_idle()), (0, false));

    let recording = tokio::spawn(recorder.run(pending));
    assert_eq!(first.await.unwrap().unwrap().as_str(), "host/1");
    assert_eq!(second.await.unwrap().unwrap().as_str(), "host/2");
    assert_eq!(texts(&session.snapshot()), ["first", "second"]);
    assert_eq!(journal.writes(), 1, "what waits together is appended together");
    drop(session);
    recording.await.unwrap();
    assert_eq!(texts(&load(&journal, "two").await.0.snapshot()), ["first", "second"]);
}

#[tokio::test]
async fn all_of_a_session_comes_back() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    session.set_metadata("owner", json!({ "team": 7 })).await.unwrap();
    session.set("gone", json!(1)).await.unwrap();
    session.erase("gone").await.unwrap();
    session.set("kept", json!([0.1, null])).await.unwrap();
    let mut admission = working(&session).await;
    let output = TaskOutput::text("done").with_artifact(Artifact::text("draft", "text").unwrap());
    admission.settle_recorded(completed(output)).await.unwrap();
    session.post(Message::user("thanks")).await.unwrap();
    session.trim(2).await.unwrap();
    let before = session.snapshot();
    kill(session, recording).await;

    let (session, _recorder) = load(&journal, "two").await;
    let after = session.snapshot();
    assert_eq!(after.revision(), before.revision());
    assert_eq!(after.messages().collect::<Vec<_>>(), before.messages().collect::<Vec<_>>());
    assert_eq!(after.artifacts().collect::<Vec<_>>(), before.artifacts().collect::<Vec<_>>());
    assert_eq!(after.states().collect::<Vec<_>>(), before.states().collect::<Vec<_>>());
    assert_eq!(after.tasks().collect::<Vec<_>>(), before.tasks().collect::<Vec<_>>());
    assert_eq!((after.metadata("owner"), after.usage()), (before.metadata("owner"), before.usage()));
}

#[tokio::test]
async fn what_nests_as_deep_as_may_be_comes_back() {
    let deep = (0..MAX_JSON_DEPTH).fold(json!(1), |value, _| Value::Array(vec![value]));
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    session.post(Message::user("x").with_data(deep.clone())).await.unwrap();
    session.set("key", deep.clone()).await.unwrap();
    session.set_metadata("key", deep.clone()).await.unwrap();
    let mut file = Artifact::text("file", "x").unwrap();
    file.data = Some(deep.clone());
    let message = Message::agent("y").with_data(deep.clone());
    let mut report = paused();
    report.pause = Some(Pause::new("go on?", Some(deep.clone()), Some(ResumeToken::new(1, deep.clone()))));
    report.output =
        Some(TaskOutput::text("z").with_artifact(file).with_message(message).with_metadata("m", deep));
    let kept = working(&session).await.settle_recorded(report).await.unwrap();
    kill(session, recording).await;

    let (session, _recorder) = load(&journal, "one").await;
    assert_eq!(record(&session, "t").report, Some(kept));
}

#[tokio::test(start_paused = true)]
async fn work_of_a_process_that_was_killed_is_interrupted_and_may_run_again() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    let admission = working(&session).await;
    let refused = store(&journal, "two").open(&session_id(), SessionLimits::default()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.is_retryable()), (StoreErrorKind::Claimed, true));
    kill(session, recording).await;
    drop(admission);

    let (session, recording) = open(&journal).await;
    let found = record(&session, "t");
    assert_eq!(
        (found.status, found.attempt, code(&session)),
        (TaskStatus::Failed, 1, Some(ErrorCode::Interrupted))
    );
    assert_eq!(found.report.unwrap().agent, Some(agent("writer")));
    assert_eq!(admit(&session, attempt()).await.unwrap().attempt(), 2);
    // The interruption is in the log, not only in memory.
    kill(session, recording).await;
    assert_eq!(record(&load(&journal, "two").await.0, "t").attempt, 2);
}

#[tokio::test]
async fn a_pause_that_was_about_to_go_on_is_one_again_and_detached_work_is_gone() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    working(&session).await.settle_recorded(paused()).await.unwrap();
    let mut again = attempt();
    again.resume = Some(Resume::new(ResumeToken::new(1, "half"), "yes"));
    let waiting = admit(&session, again.clone()).await.unwrap();
    let mut other = admit(&session, Attempt::new(task("other"))).await.unwrap();
    other.start_recorded(None, LateWriteHook::none()).await.unwrap();
    let mut given_up = report(TaskStatus::TimedOut);
    given_up.detached = true;
    other.settle_recorded(given_up).await.unwrap();
    kill(session, recording).await;
    drop(waiting);

    let (session, recording) = open(&journal).await;
    let found = record(&session, "t");
    assert_eq!((found.status, found.attempt), (TaskStatus::InputRequired, 2));
    let found = record(&session, "other");
    assert_eq!((found.status, found.detached), (TaskStatus::TimedOut, false));
    let resumed = admit(&session, again).await.unwrap();
    assert_eq!((resumed.attempt(), resumed.required_agent()), (3, Some(agent("writer"))));
    drop((session, resumed));
    recording.await.unwrap();
}

/// The writes of a session that is opened: the admission is 0, the start 1, the settlement 2.
async fn settle_with(fault: JournalFault) -> (Faulty, Session, JoinHandle<()>) {
    let journal = Faulty::new(MemoryJournal::new()).failing(2, fault);
    let (session, recording) = open(&journal).await;
    let mut admission = working(&session).await;
    let refused = admission.settle_recorded(completed("done")).await.unwrap_err();
    assert_eq!((refused.code(), refused.report().text()), (ErrorCode::StoreFailed, "done"));
    assert!(matches!(refused.problem(), SettleProblem::Store { problem, .. } if problem.is_retryable()));
    (journal, session, recording)
}

#[tokio::test]
async fn a_settlement_that_was_not_written_is_a_failure_with_its_output_in_the_report() {
    for fault in [JournalFault::Before, JournalFault::Poison] {
        let (_, session, recording) = settle_with(fault).await;
        session.post(Message::user("next")).await.unwrap();
        assert_eq!(texts(&session.snapshot()), ["do it", "next"]);
        let found = record(&session, "t");
        assert_eq!((found.status, code(&session)), (TaskStatus::Failed, Some(ErrorCode::StoreFailed)));
        assert_eq!(found.report.unwrap().text(), "done");
        assert_eq!(admit(&session, attempt()).await.unwrap().attempt(), 2);
        drop(session);
        recording.await.unwrap();
    }
}

#[tokio::test]
async fn a_settlement_that_was_written_although_it_failed_stays_and_is_never_done_twice() {
    let (journal, session, recording) = settle_with(JournalFault::After).await;
    session.post(Message::user("next")).await.unwrap();
    assert_eq!(texts(&session.snapshot()), ["do it", "done", "next"]);
    assert_eq!((record(&session, "t").status, code(&session)), (TaskStatus::Completed, None));
    assert!(matches!(admit(&session, attempt()).await, Err(AdmissionError::Status { .. })));
    drop(session);
    recording.await.unwrap();
    assert_eq!(texts(&load(&journal, "two").await.0.snapshot()), ["do it", "done", "next"]);
}

#[tokio::test]
async fn what_a_process_did_not_find_out_the_next_load_does() {
    let (journal, session, recording) = settle_with(JournalFault::After).await;
    kill(session, recording).await;
    let (session, _recorder) = load(&journal, "two").await;
    assert_eq!((record(&session, "t").status, code(&session)), (TaskStatus::Completed, None));
}

#[tokio::test]
async fn an_admission_or_a_start_that_failed_leaves_no_attempt_open() {
    for (write, fault, attempt_of_next) in [
        (0, JournalFault::Before, 1),
        (0, JournalFault::After, 2),
        (1, JournalFault::Before, 2),
        (1, JournalFault::After, 2),
    ] {
        let journal = Faulty::new(MemoryJournal::new()).failing(write, fault);
        let (session, recording) = open(&journal).await;
        match admit(&session, attempt()).await {
            Err(error) => assert_eq!((write, error.code()), (0, ErrorCode::StoreFailed)),
            Ok(mut admission) => {
                let started = admission.start_recorded(Some(&agent("writer")), LateWriteHook::none()).await;
                assert_eq!((write, started.unwrap_err().kind()), (1, StoreErrorKind::Failed));
                let ended = admission.settle_recorded(report(TaskStatus::Failed)).await.unwrap_err();
                assert!(matches!(ended.problem(), SettleProblem::Ended { .. }));
            }
        }
        let next = admit(&session, attempt()).await.unwrap();
        assert_eq!(next.attempt(), attempt_of_next, "{write} {fault:?}");
        drop((session, next));
        recording.await.unwrap();
    }
}

#[tokio::test]
async fn what_was_decided_on_top_of_a_failed_write_fails_with_it() {
    let journal = Faulty::new(MemoryJournal::new()).failing(0, JournalFault::Before);
    let (session, recorder) = load(&journal, "one").await;
    let first = tokio::spawn(session.set("k", json!(1)));
    let (then, update) = (session.clone(), |value: Option<&Value>| json!([value]));
    let second = tokio::spawn(async move { then.update("k", update).await });
    tokio::task::yield_now().await;
    let recording = tokio::spawn(recorder.run(pending));
    for failed in [first.await.unwrap().map(drop), second.await.unwrap().map(drop)] {
        assert!(matches!(failed, Err(SessionError::Store(_))), "{failed:?}");
    }
    assert_eq!(session.update("k", update).await.unwrap().value, json!([null]));
    drop(session);
    recording.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_another_took_ends_the_owner() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    let admission = working(&session).await;
    advance(Duration::from_secs(31)).await;
    let (other, _recorder) = load(&journal, "two").await;

    let error = session.post(Message::user("late")).await.unwrap_err();
    assert!(matches!(&error, SessionError::Store(error) if error.kind() == StoreErrorKind::Ended));
    assert!(!error.is_retryable() && session.is_over());
    assert_eq!(session.set("k", json!(1)).await.unwrap_err(), error);
    drop(admission);
    assert_eq!(record(&session, "t").status, TaskStatus::Working);
    assert_eq!(code(&other), Some(ErrorCode::Interrupted));
    drop(session);
    recording.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_renewed_is_kept() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recorder) = load(&journal, "one").await;
    let recording = tokio::spawn(recorder.run(|| tokio::time::sleep(Duration::from_secs(10))));
    tokio::time::sleep(Duration::from_secs(100)).await;
    let refused = store(&journal, "two").open(&session_id(), SessionLimits::default()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Claimed);
    drop(session);
    recording.await.unwrap();
}

#[tokio::test]
async fn without_its_recorder_a_session_takes_nothing() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recorder) = load(&journal, "one").await;
    let waiting = tokio::spawn(session.post(Message::user("waiting")));
    tokio::task::yield_now().await;
    drop(recorder);
    for refused in [waiting.await.unwrap(), session.post(Message::user("later")).await] {
        assert!(matches!(refused, Err(SessionError::Store(error)) if error.kind() == StoreErrorKind::Ended));
    }
    assert_eq!(load(&journal, "two").await.0.snapshot().revision(), 0);
}

#[tokio::test]
async fn a_closed_session_is_free_for_others_unless_it_is_in_use() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    let admission = working(&session).await;
    assert_eq!(session.close().unwrap_err().active, 1);
    drop(admission);
    // The end of the attempt is on its way.
    assert!(session.close().is_err());
    session.post(Message::user("after it")).await.unwrap();
    session.close().unwrap();
    recording.await.unwrap();
    assert!(session.post(Message::user("later")).await.is_err());
    assert_eq!(code(&load(&journal, "two").await.0), Some(ErrorCode::ExecutionFailed));
}

#[tokio::test]
async fn a_long_log_is_compacted_and_says_the_same() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    working(&session).await.settle_recorded(paused()).await.unwrap();
    for number in 0..40 {
        session.post(Message::user(format!("{number} {}", "x".repeat(20_000)))).await.unwrap();
        session.trim(2).await.unwrap();
    }
    let appends = 3 + 2 * 40;
    assert!(journal.writes() > appends, "nothing was compacted");
    let before = session.snapshot();
    kill(session, recording).await;
    let (loaded, _recorder) = load(&journal, "two").await;
    let after = loaded.snapshot();
    assert_eq!(after.messages().collect::<Vec<_>>(), before.messages().collect::<Vec<_>>());
    assert_eq!(after.tasks().collect::<Vec<_>>(), before.tasks().collect::<Vec<_>>());
    assert_eq!((after.revision(), after.usage()), (before.revision(), before.usage()));
}

#[tokio::test]
async fn an_output_that_no_log_takes_is_left_out_of_the_record() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recorder) =
        store(&journal, "one").open(&session_id(), SessionLimits::unlimited()).await.unwrap();
    let recording = tokio::spawn(recorder.run(pending));
    let output = "x".repeat(convoke_journal::MAX_COMMIT_BYTES);
    let refused = working(&session).await.settle_recorded(completed(output)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StoreFailed);
    session.post(Message::user("next")).await.unwrap();
    let found = record(&session, "t");
    assert_eq!((found.status, code(&session)), (TaskStatus::Failed, Some(ErrorCode::StoreFailed)));
    assert_eq!(found.report.unwrap().output, None);
    drop(session);
    recording.await.unwrap();
}

#[tokio::test]
async fn a_session_that_was_deleted_begins_anew() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    session.post(Message::user("old")).await.unwrap();
    session.close().unwrap();
    recording.await.unwrap();
    let store = store(&journal, "two");
    store.delete(&session_id()).await.unwrap();
    store.delete(&session_id()).await.unwrap();
    let (session, _recorder) = store.open(&session_id(), SessionLimits::default()).await.unwrap();
    assert_eq!(session.snapshot().revision(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_of_many_threads_all_count_and_no_reader_is_ahead_of_the_log() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recording) = open(&journal).await;
    let increment = |session: Session| async move {
        for _ in 0..100 {
            loop {
                let found = session.get("n");
                let next = found.as_ref().and_then(|entry| entry.value.as_u64()).unwrap_or(0) + 1;
                let expected = Expected::of(found.as_ref());
                match session.compare_and_set("n", expected, json!(next)).await {
                    Ok(_) => break,
                    Err(error) => assert!(matches!(error, SessionError::Conflict { .. }), "{error}"),
                }
            }
            session.update("m", |value| json!(value.and_then(Value::as_u64).unwrap_or(0) + 1)).await.unwrap();
        }
    };
    let writers: Vec<_> = (0..8).map(|_| tokio::spawn(increment(session.clone()))).collect();
    while !writers.iter().all(JoinHandle::is_finished) {
        let seen = session.snapshot().revision();
        let log = convoke_core::LogId::of_session(&session_id());
        let written = journal.read(&log, convoke_core::ReadFrom::Record(convoke_core::Sequence::START)).await;
        // It may have been compacted since; then it says less than it has.
        assert!(written.is_err() || written.unwrap().records.len() as u64 >= seen);
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(
        [session.get("n"), session.get("m")].map(|entry| entry.unwrap().value),
        [json!(800), json!(800)]
    );
    drop(session);
    recording.await.unwrap();
    assert_eq!(load(&journal, "two").await.0.snapshot().revision(), 1_600);
}

#[tokio::test]
async fn an_admission_that_nobody_waits_for_is_given_up() {
    let journal = Faulty::new(MemoryJournal::new());
    let (session, recorder) = load(&journal, "one").await;
    let mut admitting = Box::pin(session.admit_recorded(attempt(), AdmissionOptions::default()));
    assert!(poll_once(admitting.as_mut()).is_pending());
    drop(admitting);
    let recording = tokio::spawn(recorder.run(pending));
    session.recorded().await.unwrap();
    assert_eq!(
        (record(&session, "t").status, code(&session)),
        (TaskStatus::Failed, Some(ErrorCode::ExecutionFailed))
    );
    drop(session);
    recording.await.unwrap();
}

fn poll_once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> std::task::Poll<T> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
