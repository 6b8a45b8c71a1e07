//! Random sequences of everything that can happen to a session, against a reference model.

mod model;
mod operation;

use std::collections::{HashMap, HashSet};

use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::json;

use convoke_core::{
    Message, Pause, RequestDigest, Resume, ResumeToken, TaskId, TaskOutput, TaskRequest, TaskStatus,
};
use convoke_session::{
    Admission, AdmissionError, AdmissionOptions, Admitted, Attempt, Author, Expected, LateWriteHook, Limit,
    Session, SessionError, SessionHandle, SessionLimits, SessionSnapshot, SettleError, SettleProblem,
};

use crate::{
    fixtures::{agent, artifact, now, recording, report, session_id, task},
    machine::{
        model::{Model, Settled},
        operation::{Asked, Carried, Operation, Said, Sent, operations},
    },
};

const MESSAGES: usize = 8;
const BYTES: usize = 70;
const ARTIFACTS: usize = 2;
const VALUE_BYTES: usize = 24;

/// They look like the ids that the session makes itself.
const TASKS: [&str; 2] = ["host", "host/1"];

proptest! {
    // The same cases each time; another seed looks elsewhere.
    #![proptest_config(ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_session_does_what_its_model_does(operations in operations()) {
        let mut run = Run::new();
        let mut snapshots = Vec::new();
        for (index, operation) in operations.iter().enumerate() {
            let before = run.session.snapshot();
            let (actual, expected) = run.carry_out(operation);
            prop_assert_eq!(&actual, &expected, "operation {}: {:?}", index, operation);
            let after = run.session.snapshot();
            prop_assert_eq!(render(&after), run.model.render(), "operation {}: {:?}", index, operation);
            check_step(&before, &after, operation)?;
            if matches!(operation, Operation::Snapshot) {
                snapshots.push((render(&after), after));
            }
        }
        for (then, snapshot) in &snapshots {
            prop_assert_eq!(&render(snapshot), then);
        }
    }
}

/// What holds from one operation to the next, whatever the model says.
fn check_step(
    before: &SessionSnapshot,
    after: &SessionSnapshot,
    operation: &Operation,
) -> Result<(), TestCaseError> {
    let decides = matches!(operation, Operation::Admit { .. } | Operation::Reconcile { .. });
    let sequences: Vec<_> = after.messages().map(|message| message.sequence).collect();
    prop_assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]));
    let ids: HashSet<_> = after.messages().map(|message| &message.id).collect();
    prop_assert_eq!(ids.len(), sequences.len());
    for (task, now) in after.tasks() {
        let Some(then) = before.task(task) else {
            prop_assert_eq!((now.status, now.attempt), (TaskStatus::Submitted, 1));
            continue;
        };
        if now.attempt == then.attempt {
            let was_put_back = then.status == TaskStatus::Submitted && now.status.is_paused();
            // The only edge out of an end is a decision about it.
            let was_decided = decides && now.reconciled.is_some() && then.status.is_terminal();
            let was_closed = decides && now.is_closed() && then.status.is_paused();
            let is_legal = then.status.can_become(now.status) || was_put_back || was_decided || was_closed;
            prop_assert!(now.status == then.status || is_legal);
            prop_assert!(now.late.is_none() || now.reconciled.is_none());
        } else {
            prop_assert_eq!((now.status, now.attempt), (TaskStatus::Submitted, then.attempt + 1));
            let is_over = matches!(then.status, TaskStatus::Completed | TaskStatus::TimedOut);
            prop_assert!(then.allows_next_attempt() || is_over);
            prop_assert!(
                !then.detached && !then.is_closed() && now.late.is_none() && now.reconciled.is_none()
            );
        }
    }
    Ok(())
}

/// Everything a reader can see. The counters are counted again.
fn render(snapshot: &SessionSnapshot) -> Vec<String> {
    let mut lines = vec![format!("revision {}", snapshot.revision())];
    let (mut messages, mut bytes, mut artifacts) = (0, 0, 0);
    for message in snapshot.messages() {
        let call = message.message.call.as_ref().map_or("-", |call| call.as_str());
        let size = message.message.size();
        lines.push(format!("{} {} by {}: {size}, {call}", message.sequence, message.id, message.author));
        messages += 1;
        bytes += size;
    }
    for found in snapshot.artifacts() {
        let size = found.artifact.size();
        lines.push(format!("artifact {}, {} of {}: {size}", found.task, found.artifact.id, found.attempt));
        artifacts += 1;
        bytes += size;
    }
    for (key, entry) in snapshot.states() {
        let size = convoke_core::json_size(&entry.value);
        lines.push(format!("state {key} at {}: {size}", entry.revision));
        bytes += size + key.len();
    }
    let (mut active, mut paused, mut detached, mut lates) = (0, 0, 0, 0);
    for (task, record) in snapshot.tasks() {
        let agent = record.agent.as_ref().map_or("-", |agent| agent.as_str());
        let last = record.report.as_ref().map(|report| (report.attempt, report.status.as_str()));
        let late = record.late.as_ref().map(|report| (report.attempt, report.status.as_str()));
        let flag = if record.detached { ", detached" } else { "" };
        let (status, attempt, decided) = (record.status, record.attempt, record.reconciled);
        lines.push(format!(
            "task {task} {attempt} {status} at {agent}, last {last:?}, late {late:?}, {decided:?}{flag}"
        ));
        active += usize::from(record.status.is_active());
        paused += usize::from(record.status.is_paused());
        detached += usize::from(record.detached);
        lates += usize::from(record.late.is_some());
    }
    let usage = snapshot.usage();
    assert_eq!((usage.messages, usage.bytes, usage.artifacts), (messages, bytes as u64, artifacts));
    let activity = snapshot.activity();
    assert_eq!((activity.active, activity.paused), (active, paused));
    assert_eq!((activity.detached, activity.late), (detached, lates));
    assert_eq!(activity.is_idle(), active + paused + detached + lates == 0);
    lines
}

/// A session and its model, and what their users hold.
struct Run {
    session: Session,
    model: Model,
    admissions: HashMap<&'static str, Admission>,
    ended: Vec<(&'static str, Admission)>,
    handles: Vec<(SessionHandle, &'static str, u32)>,
}

impl Run {
    fn new() -> Self {
        let limit = |number: usize| Limit::Finite(number as u64);
        let limits = SessionLimits::default()
            .with_messages(limit(MESSAGES))
            .with_bytes(limit(BYTES))
            .with_artifacts(limit(ARTIFACTS))
            .with_value_bytes(limit(VALUE_BYTES));
        Self {
            session: Session::with_limits(session_id(), limits),
            model: Model::default(),
            admissions: HashMap::new(),
            ended: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// What the session and the model say.
    fn carry_out(&mut self, operation: &Operation) -> (String, String) {
        match operation {
            Operation::Admit { task, asked } => self.admit(TASKS[*task], asked),
            Operation::Start { task, is_coordinated } => self.start(TASKS[*task], *is_coordinated),
            Operation::Settle { task, carried } => self.settle(TASKS[*task], carried),
            Operation::SettleAgain { nth } => self.settle_again(*nth),
            Operation::Drop { task } => {
                let dropped = self.admissions.remove(TASKS[*task]);
                let expected = dropped.is_some().then(|| self.model.drop_admission(TASKS[*task]));
                drop(dropped);
                ("dropped".into(), expected.unwrap_or("dropped").into())
            }
            Operation::DetachedEnded { task: id, attempt, late } => {
                let report = late.as_ref().map(carry);
                let attempt = attempt.unwrap_or_else(|| self.latest(TASKS[*id]));
                let actual = self.session.detached_ended(&task(TASKS[*id]), attempt, report);
                let expected = self.model.detached_ended(TASKS[*id], attempt, late.as_ref());
                (actual.to_string(), expected.to_string())
            }
            Operation::Forfeit { task: id, attempt } => {
                let attempt = attempt.unwrap_or_else(|| self.latest(TASKS[*id]));
                let actual = self.session.forfeit(&task(TASKS[*id]), attempt);
                (actual.to_string(), self.model.detached_ended(TASKS[*id], attempt, None).to_string())
            }
            Operation::Reconcile { task: id, word } => {
                let actual = now(self.session.reconcile(&task(TASKS[*id]), *word));
                let actual = actual.map_or_else(|error| error.code().to_string(), |_| "ok".into());
                (actual, self.model.reconcile(TASKS[*id], *word))
            }
            Operation::HostPost { said } => {
                let actual = now(self.session.post(message(said)));
                (word(actual.err()), self.model.host_post(said).into())
            }
            Operation::Post { nth, said } => self.post(*nth, said),
            Operation::PostLatest { said } => self.post(self.handles.len().saturating_sub(1), said),
            Operation::Publish { nth, id, bytes } => self.with_handle(*nth, |model, handle, owner| {
                let actual = handle.publish(artifact(&id.to_string(), "x".repeat(*bytes)));
                (word(actual.err()), model.stage_artifact(owner, *id, *bytes).into())
            }),
            Operation::HandleSet { nth, key, bytes } => self.with_handle(*nth, |model, handle, owner| {
                let actual = now(handle.set(key, json!("x".repeat(*bytes))));
                (word(actual.err()), model.set(Some(owner), key, *bytes, true).into())
            }),
            Operation::Set { key, bytes } => {
                let actual = now(self.session.set(key, json!("x".repeat(*bytes))));
                (word(actual.err()), self.model.set(None, key, *bytes, true).into())
            }
            Operation::CompareAndSet { key, bytes, is_current } => {
                let expected = Expected::of(self.session.get(key).as_ref());
                let expected = if *is_current { expected } else { Expected::Revision(0) };
                let value = json!("x".repeat(*bytes));
                let actual = now(self.session.compare_and_set(key, expected, value));
                (word(actual.err()), self.model.set(None, key, *bytes, *is_current).into())
            }
            Operation::Erase { key } => {
                let actual = now(self.session.erase(key)).unwrap();
                (actual.to_string(), self.model.erase(key).to_string())
            }
            Operation::Trim { keep } => {
                let actual = now(self.session.trim(*keep)).unwrap();
                (actual.to_string(), self.model.trim(*keep).to_string())
            }
            Operation::Snapshot => (String::new(), String::new()),
        }
    }

    /// The number of the latest attempt, from 1.
    fn latest(&self, id: &str) -> u32 {
        self.session.snapshot().task(&task(id)).map_or(1, |record| record.attempt)
    }

    fn admit(&mut self, id: &'static str, asked: &Asked) -> (String, String) {
        let mut attempt = Attempt::new(task(id)).by(Author::Agent(agent("lead")));
        attempt.input = asked.input.iter().map(message).collect();
        attempt.digest = asked.request.map(digest);
        attempt.is_coordinated = asked.is_coordinated;
        let recorded =
            self.session.snapshot().task(&task(id)).and_then(|record| record.resume_token().cloned());
        attempt.resume = match asked.sent {
            Sent::Nothing => None,
            Sent::Recorded => Some(Resume::new(recorded.unwrap_or_else(ResumeToken::empty), "answer")),
            Sent::Wrong => Some(Resume::new(ResumeToken::new(9, "wrong"), "answer")),
        };
        let expected = self.model.admit(id, asked);
        let mut options = AdmissionOptions::default().with_if_completed(asked.if_completed);
        options.late = asked.late;
        match self.session.admit_with(attempt, options) {
            Ok(Admitted::Attempt(admission)) => {
                let required = admission.required_agent().map_or("-".into(), |agent| agent.to_string());
                let is_reconciled = admission.is_reconciled();
                self.admissions.insert(id, admission);
                (format!("ok at {required}, {is_reconciled}"), expected)
            }
            Ok(Admitted::Recorded(_)) => ("recorded".into(), expected),
            Ok(Admitted::Accepted(_)) => ("accepted".into(), expected),
            Err(AdmissionError::Input { problem, .. }) => (word(Some(problem)), expected),
            Err(error) => (error.code().to_string(), expected),
        }
    }

    fn start(&mut self, id: &'static str, is_coordinated: bool) -> (String, String) {
        if let Some(admission) = self.admissions.get_mut(id) {
            let handle = if is_coordinated {
                admission.start_coordinated(LateWriteHook::none())
            } else {
                admission.start(&agent("writer"), recording().0)
            };
            self.handles.push((handle, id, admission.attempt()));
            self.model.start(id, is_coordinated);
        }
        (String::new(), String::new())
    }

    fn settle(&mut self, id: &'static str, carried: &Carried) -> (String, String) {
        let Some(admission) = self.admissions.get_mut(id) else { return (String::new(), String::new()) };
        let actual = admission.settle(carry(carried));
        let expected = self.model.settle(id, carried);
        if actual.is_ok() {
            let ended = self.admissions.remove(id).into_iter().map(|admission| (id, admission));
            self.ended.extend(ended);
        }
        (settled(actual.err().as_ref()), format!("{expected:?}"))
    }

    fn settle_again(&mut self, nth: usize) -> (String, String) {
        let count = self.ended.len().max(1);
        let Some((_, admission)) = self.ended.get_mut(nth % count) else {
            return (String::new(), String::new());
        };
        let actual = admission.settle(report(TaskStatus::Failed));
        (settled(actual.err().as_ref()), format!("{:?}", Settled::Ended))
    }

    fn post(&mut self, nth: usize, said: &Said) -> (String, String) {
        self.with_handle(nth, |model, handle, owner| {
            (word(handle.post(message(said)).err()), model.stage_message(owner, said).into())
        })
    }

    fn with_handle(
        &mut self,
        nth: usize,
        write: impl FnOnce(&mut Model, &SessionHandle, (&str, u32)) -> (String, String),
    ) -> (String, String) {
        let count = self.handles.len().max(1);
        let Some((handle, id, attempt)) = self.handles.get(nth % count) else {
            return (String::new(), String::new());
        };
        write(&mut self.model, handle, (*id, *attempt))
    }
}

fn message(said: &Said) -> Message {
    let message = Message::user("x".repeat(said.bytes));
    match said.call {
        Some(call) => message.with_call(call.to_string().parse().unwrap()),
        None => message,
    }
}

fn digest(request: u8) -> RequestDigest {
    TaskRequest::new(request.to_string()).digest()
}

fn carry(carried: &Carried) -> convoke_core::TaskReport {
    let mut output = TaskOutput::text("x".repeat(carried.answer));
    output.messages = carried.messages.iter().map(message).collect();
    output.artifacts =
        carried.artifacts.iter().map(|(id, bytes)| artifact(&id.to_string(), "x".repeat(*bytes))).collect();
    let mut report = report(carried.status);
    report.output = Some(output);
    report.detached = carried.detached;
    report.pause = Some(Pause::new("?", None, carried.has_token.then(|| ResumeToken::new(1, "go on"))));
    report
}

fn word(error: Option<SessionError>) -> String {
    match error {
        None => "ok",
        Some(SessionError::Revoked { .. }) => "revoked",
        Some(SessionError::Full { .. }) => "full",
        Some(SessionError::TooLarge { .. }) => "too large",
        Some(SessionError::Conflict { .. }) => "conflict",
        Some(other) => panic!("{other}"),
    }
    .into()
}

fn settled(error: Option<&SettleError>) -> String {
    let settled = match error.map(SettleError::problem) {
        None => Settled::Done,
        Some(SettleProblem::Ended { .. }) => Settled::Ended,
        Some(SettleProblem::Transition { .. }) => Settled::Illegal,
        Some(SettleProblem::RepeatedArtifact { .. }) => Settled::Repeated,
        Some(SettleProblem::Output { problem: SessionError::Full { .. }, .. }) => Settled::Full,
        Some(SettleProblem::Output { .. }) => Settled::TooLarge,
        Some(other) => panic!("{other}"),
    };
    format!("{settled:?}")
}

/// The model names tasks by text; so that a typo shows.
#[test]
fn the_tasks_are_ids() {
    for id in TASKS {
        assert_eq!(TaskId::new(id).unwrap().as_str(), id);
    }
}
