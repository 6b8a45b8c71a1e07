//! Random work in a session whose log fails now and then: what readers see is what the log says, always.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use convoke_core::{
    AgentId, AnyJournal, Artifact, CallId, Journal, LogContents, LogId, Message, OwnerId, Pause, ReadFrom,
    Resume, ResumeToken, SessionId, TaskId, TaskOutput, TaskReport, TaskStatus,
};
use convoke_journal::MemoryJournal;
use convoke_testkit::{FaultyJournal, JournalFault};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::RngSeed};
use serde_json::json;

use super::SessionStore;
use crate::{
    Admission, AdmissionOptions, Admitted, Attempt, IfCompleted, LateWriteHook, Reconcile, Session,
    SessionHandle, SessionLimits, SettleProblem, StoreErrorKind,
    codec::{self, contents},
    machine::{Change, State},
};

const TASKS: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug)]
enum Operation {
    Admit {
        task: usize,
        if_completed: bool,
        late: Option<Reconcile>,
    },
    Start {
        task: usize,
    },
    Settle {
        task: usize,
        status: TaskStatus,
        detached: bool,
    },
    Drop {
        task: usize,
    },
    DetachedEnded {
        task: usize,
        late: Option<TaskStatus>,
    },
    Reconcile {
        task: usize,
        word: Reconcile,
    },
    Stage {
        task: usize,
    },
    Post,
    Count,
    Erase,
    Note,
    Trim {
        keep: usize,
    },
    /// Nothing waits for the recorder before the next operation.
    Hold,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use TaskStatus::{Cancelled, Completed, Failed, InputRequired, TimedOut};
    let task = || 0..TASKS.len();
    let word = || select(vec![Reconcile::Retry, Reconcile::Abandon, Reconcile::AcceptLate]);
    let status = || select(vec![Completed, Failed, InputRequired, TimedOut, Cancelled]);
    let operation = prop_oneof![
        8 => (task(), any::<bool>(), prop::option::weighted(0.3, word()))
            .prop_map(|(task, if_completed, late)| Operation::Admit { task, if_completed, late }),
        8 => task().prop_map(|task| Operation::Start { task }),
        8 => (task(), status(), prop::bool::weighted(0.3))
            .prop_map(|(task, status, detached)| Operation::Settle { task, status, detached }),
        1 => task().prop_map(|task| Operation::Drop { task }),
        3 => (task(), prop::option::of(status()))
            .prop_map(|(task, late)| Operation::DetachedEnded { task, late }),
        2 => (task(), word()).prop_map(|(task, word)| Operation::Reconcile { task, word }),
        3 => task().prop_map(|task| Operation::Stage { task }),
        2 => Just(Operation::Post),
        2 => Just(Operation::Count),
        1 => Just(Operation::Erase),
        1 => Just(Operation::Note),
        1 => (0..4_usize).prop_map(|keep| Operation::Trim { keep }),
        4 => Just(Operation::Hold),
    ];
    vec(operation, 1..60)
}

fn faults() -> impl Strategy<Value = Vec<(u64, JournalFault)>> {
    let fault = select(vec![JournalFault::Before, JournalFault::After, JournalFault::Poison]);
    vec((0..40_u64, fault), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn readers_see_what_the_log_says(operations in operations(), faults in faults()) {
        let mut run = Run::new(&faults);
        for (index, operation) in operations.iter().enumerate() {
            run.carry_out(operation);
            if !matches!(operation, Operation::Hold) {
                run.record();
            }
            run.check(&format!("operation {index}: {operation:?}"));
        }
        run.recover();
        run.check("the end");
        prop_assert!(!run.session.machine().is_unsure());
        for (task, held) in TASKS.iter().zip(&run.admissions) {
            let snapshot = run.session.snapshot();
            let record = snapshot.task(&TaskId::new(*task).unwrap());
            let is_active = record.is_some_and(|record| record.status.is_active());
            prop_assert_eq!(is_active, held.is_some(), "an id is stuck, or its owner was forgotten");
        }
        run.check_after_kill();
    }
}

struct Run {
    journal: FaultyJournal<MemoryJournal>,
    session: Session,
    recording: Pin<Box<dyn Future<Output = ()>>>,
    admissions: [Option<(Admission, Option<SessionHandle>)>; 2],
    posts: usize,
}

impl Run {
    fn new(faults: &[(u64, JournalFault)]) -> Self {
        let mut journal = FaultyJournal::new(MemoryJournal::new());
        for (write, fault) in faults {
            journal = journal.failing(*write, *fault);
        }
        let (session, recorder) =
            ready(store(&journal, "one").open(&id(), SessionLimits::default())).unwrap();
        let recording = Box::pin(recorder.run(std::future::pending));
        Self { journal, session, recording, admissions: [None, None], posts: 0 }
    }

    /// As far as the recorder comes by itself.
    fn record(&mut self) {
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(self.recording.as_mut().poll(cx).is_pending());
    }

    fn wait<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..4 {
            if let Poll::Ready(result) = future.as_mut().poll(cx) {
                return result;
            }
            self.record();
        }
        panic!("nobody answers");
    }

    /// Until nothing is in question: each fault strikes once.
    fn recover(&mut self) {
        for _ in 0..50 {
            let session = self.session.clone();
            _ = self.wait(session.sure());
            self.record();
        }
    }

    fn carry_out(&mut self, operation: &Operation) {
        let session = self.session.clone();
        match operation {
            Operation::Admit { task, if_completed, late } => self.admit(*task, *if_completed, *late),
            Operation::Start { task } => {
                let Some((mut admission, None)) = self.admissions[*task].take() else { return };
                let agent = AgentId::new("writer").unwrap();
                let started = self.wait(admission.start_recorded(Some(&agent), LateWriteHook::none()));
                self.admissions[*task] = started.ok().map(|handle| (admission, Some(handle)));
            }
            Operation::Settle { task, status, detached } => {
                let Some((mut admission, handle)) = self.admissions[*task].take() else { return };
                let settled = self.wait(admission.settle_recorded(report(*status, *detached)));
                match settled.map_err(|refused| refused.problem().clone()) {
                    Ok(_) | Err(SettleProblem::Store { .. } | SettleProblem::Ended { .. }) => {}
                    Err(_) => self.admissions[*task] = Some((admission, handle)),
                }
            }
            Operation::Drop { task } => self.admissions[*task] = None,
            Operation::DetachedEnded { task, late } => {
                let id = TaskId::new(TASKS[*task]).unwrap();
                let attempt = session.snapshot().task(&id).map_or(1, |record| record.attempt);
                session.detached_ended(&id, attempt, late.map(|status| report(status, false)));
            }
            Operation::Reconcile { task, word } => {
                _ = self.wait(session.reconcile(&TaskId::new(TASKS[*task]).unwrap(), *word));
            }
            Operation::Stage { task } => {
                if let Some((_, Some(handle))) = &self.admissions[*task] {
                    _ = handle.post(Message::agent("staged"));
                    _ = handle.publish(Artifact::text("draft", "text").unwrap());
                }
            }
            Operation::Post => {
                self.posts += 1;
                let mut message = Message::user(self.posts.to_string());
                // So that a trim keeps older messages for the sake of newer ones.
                message.call = self.posts.is_multiple_of(2).then(|| CallId::new("call").unwrap());
                _ = self.wait(session.post(message));
            }
            Operation::Count => {
                let next = |value: Option<&serde_json::Value>| {
                    json!(value.and_then(serde_json::Value::as_u64).unwrap_or(0) + 1)
                };
                _ = self.wait(session.update("count", next));
            }
            Operation::Erase => _ = self.wait(session.erase("count")),
            Operation::Note => _ = self.wait(session.set_metadata("note", json!(0.1 + 0.2))),
            Operation::Trim { keep } => _ = self.wait(session.trim(*keep)),
            // Decided, and not waited for.
            Operation::Hold => {
                _ = pin!(session.set("held", json!(1))).poll(&mut Context::from_waker(Waker::noop()));
            }
        }
    }

    fn admit(&mut self, task: usize, if_completed: bool, late: Option<Reconcile>) {
        if self.admissions[task].is_some() {
            return;
        }
        let id = TaskId::new(TASKS[task]).unwrap();
        let mut attempt = Attempt::new(id.clone()).with_message(Message::user("do it"));
        let token = self.session.snapshot().task(&id).and_then(|record| record.resume_token().cloned());
        attempt.resume = token.map(|token| Resume::new(token, "yes"));
        let again = if if_completed { IfCompleted::Again } else { IfCompleted::Refuse };
        let options = AdmissionOptions { if_completed: again, late };
        let session = self.session.clone();
        if let Ok(Admitted::Attempt(admission)) = self.wait(session.admit_recorded(attempt, options)) {
            self.admissions[task] = Some((admission, None));
        }
    }

    /// What readers see is what some part of the log says from its start, and all of it where nothing is in question.
    fn check(&self, when: &str) {
        let log = log(&self.journal);
        let seen = parts(&self.session.machine().snapshot());
        let whole = parts(&replayed(&log));
        let machine = self.session.machine();
        if machine.is_unsure() {
            let says = |records: usize| {
                let mut part = log.clone();
                part.records.truncate(records);
                parts(&replayed(&part)) == seen
            };
            assert!((0..=log.records.len()).any(says), "{when}: {seen:?} is no part of {whole:?}");
        } else {
            assert_eq!(seen, whole, "{when}");
        }
    }

    /// Nothing of the process goes on, and another one takes over what it had seen.
    fn check_after_kill(self) {
        let seen = self.session.snapshot();
        let (log_id, owner) = (LogId::of_session(&id()), OwnerId::new("one").unwrap());
        let refused = ready(store(&self.journal, "two").open(&id(), SessionLimits::default())).unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Claimed);
        let claim = ready(self.journal.claim(&log_id, &owner, std::time::Duration::from_secs(30))).unwrap();
        ready(self.journal.inner().release(&log_id, claim.token)).unwrap();

        let (loaded, _recorder) = ready(
            SessionStore::new(AnyJournal::new(self.journal.inner().clone()), "two".try_into().unwrap())
                .open(&id(), SessionLimits::default()),
        )
        .unwrap();
        let loaded = loaded.snapshot();
        for (task, before) in seen.tasks() {
            let after = loaded.task(task).unwrap();
            assert!(!after.detached && !after.status.is_active());
            if !before.status.is_active() {
                assert_eq!((before.status, &before.report), (after.status, &after.report));
            } else if before.pause.is_some() {
                assert_eq!(after.status, TaskStatus::InputRequired);
            } else {
                let code = after.report.as_ref().and_then(|report| report.code());
                assert_eq!(code, Some(convoke_core::ErrorCode::Interrupted));
            }
        }
        let messages = |snapshot: &crate::SessionSnapshot| snapshot.messages().cloned().collect::<Vec<_>>();
        assert_eq!(messages(&seen), messages(&loaded));
    }
}

fn store(journal: &FaultyJournal<MemoryJournal>, owner: &str) -> SessionStore {
    SessionStore::new(AnyJournal::new(journal.clone()), OwnerId::new(owner).unwrap())
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn report(status: TaskStatus, detached: bool) -> TaskReport {
    let mut report = TaskReport::new(TaskId::new("another").unwrap(), id(), status);
    report.output = Some(TaskOutput::text("done").with_message(Message::agent("and more")));
    report.detached = detached;
    report.pause = Some(Pause::new("go on?", None, Some(ResumeToken::new(1, "half"))));
    report
}

fn log(journal: &FaultyJournal<MemoryJournal>) -> LogContents {
    ready(journal.read(&LogId::of_session(&id()), ReadFrom::Latest)).unwrap()
}

fn replayed(log: &LogContents) -> State {
    codec::decode(&id(), log).unwrap()
}

fn parts(state: &State) -> (u64, u64, u64, Vec<Change>) {
    (state.revision, state.last_sequence, state.bytes, contents(state).collect())
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a journal in memory waits for nothing"),
    }
}
