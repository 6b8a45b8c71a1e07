//! A driver by hand: it keeps the journal, makes durable what it is asked to, and notes what is under way.

use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};

use convoke_core::{Metadata, TaskOutput};

use crate::{
    Plan, PlanDraft, PlanPolicy, PlanPolicyBuilder, PlanValidator, StepDraft, StepIndex, StepStatus,
    machine::{
        Capabilities, Command, Entry, Event, Finding, Machine, Moment, PendingKind, Record, Refusal,
        RequestId, Start, StepError, StepErrorCode, StopReason, WorkOutcome,
    },
};

pub(super) fn step(id: impl Into<String>) -> StepDraft {
    StepDraft::new(id).titled("x")
}

pub(super) fn plan(steps: impl IntoIterator<Item = StepDraft>) -> Plan {
    let policy = PlanPolicy::builder().max_steps(1_000_000).build().unwrap();
    PlanValidator::new(&policy).validate(PlanDraft::new("goal").with_id("plan").with_steps(steps)).unwrap()
}

pub(super) fn policy(set: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder) -> PlanPolicy {
    set(PlanPolicy::builder().backoff(crate::Backoff::none())).build().unwrap()
}

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn output(text: &str) -> Arc<TaskOutput> {
    Arc::new(TaskOutput::text(text))
}

pub(super) fn failure() -> WorkOutcome {
    WorkOutcome::Failed(StepError::new(StepErrorCode::ExecutionFailed, "no luck"))
}

/// A start with its key, as the plan was then.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Begun {
    pub(super) of: Start,
    pub(super) key: String,
}

impl Deref for Begun {
    type Target = Start;

    fn deref(&self) -> &Start {
        &self.of
    }
}

pub(super) struct Bench {
    /// As it was first begun.
    pub(super) plan: Plan,
    pub(super) machine: Machine,
    pub(super) now: Moment,
    pub(super) journal: Vec<Entry>,
    /// The commands of the last event and what followed from it, without records and flushes.
    pub(super) last: Vec<Command>,
    /// All starts, in order.
    pub(super) starts: Vec<Begun>,
    /// What is at work.
    pub(super) at_work: BTreeMap<StepIndex, Start>,
    pub(super) wake: Option<Duration>,
    pub(super) stop: Option<StopReason>,
    /// Whether a flush is carried out at once.
    pub(super) durable_at_once: bool,
    pub(super) flushes: usize,
}

impl Bench {
    pub(super) fn of(machine: Machine) -> Self {
        Self {
            plan: machine.plan().clone(),
            machine,
            now: Moment { unix_millis: 1_000_000, running: ms(0) },
            journal: Vec::new(),
            last: Vec::new(),
            starts: Vec::new(),
            at_work: BTreeMap::new(),
            wake: None,
            stop: None,
            durable_at_once: true,
            flushes: 0,
        }
    }

    pub(super) fn new(policy: PlanPolicy, steps: impl IntoIterator<Item = StepDraft>) -> Self {
        Self::of(Machine::new(plan(steps), policy, |_, _| Some(Capabilities::new())))
    }

    /// A new process with the same journal.
    pub(super) fn again(&self, policy: PlanPolicy) -> Self {
        self.again_as(policy, self.journal.len(), |machine| machine)
    }

    /// A new process with the first records of the journal.
    pub(super) fn again_as(
        &self,
        policy: PlanPolicy,
        records: usize,
        set: impl FnOnce(Machine) -> Machine,
    ) -> Self {
        let journal = self.journal[..records].to_vec();
        let plan = self.plan.clone();
        let machine =
            Machine::replay(plan, policy, journal.clone(), |_, _| Some(Capabilities::new())).unwrap();
        Self { journal, plan: self.plan.clone(), ..Self::of(set(machine)) }
    }

    pub(super) fn at(&self, id: &str) -> StepIndex {
        self.machine.plan().index_of(id).unwrap()
    }

    pub(super) fn name(&self, step: StepIndex) -> String {
        self.machine.plan().step(step).unwrap().id.as_str().to_owned()
    }

    pub(super) fn send(&mut self, event: Event) -> &mut Self {
        self.last.clear();
        self.try_send(event).unwrap();
        self
    }

    pub(super) fn try_send(&mut self, event: Event) -> Result<(), Refusal> {
        let mut out = Vec::new();
        let before = self.machine.plan().clone();
        self.machine.handle(self.now, event, &mut out)?;
        if before.revision() != self.machine.plan().revision() {
            self.move_work(&before);
        }
        let mut flush = false;
        for command in out {
            assert_eq!(self.stop, None, "{command:?} follows the end");
            match &command {
                Command::Persist(entry) => {
                    self.journal.push(entry.clone());
                    continue;
                }
                Command::Flush => {
                    self.flushes += 1;
                    flush = true;
                    continue;
                }
                Command::Start(start) => {
                    let key = start.key(self.machine.plan());
                    self.starts.push(Begun { of: start.clone(), key });
                    assert_eq!(
                        self.at_work.insert(start.step, start.clone()),
                        None,
                        "{start:?} runs already"
                    );
                }
                Command::WakeAt(wake) => self.wake = *wake,
                Command::Finish(stop) => self.stop = Some(*stop),
                _ => {}
            }
            self.last.push(command);
        }
        if flush && self.durable_at_once && self.stop.is_none() {
            self.persisted();
        }
        Ok(())
    }

    /// Work is known by its place here, and places are those of a revision.
    fn move_work(&mut self, before: &Plan) {
        let working = std::mem::take(&mut self.at_work).into_iter();
        let plan = self.machine.plan();
        let moved = working.filter_map(|(step, start)| Some((plan.index_of(&before.step(step)?.id)?, start)));
        self.at_work = moved.collect();
    }

    pub(super) fn persisted(&mut self) {
        // Who is told of no records has none to lose.
        let sequence = self.journal.last().map_or(u64::MAX, |entry| entry.sequence);
        self.try_send(Event::Persisted { sequence }).unwrap();
    }

    pub(super) fn begin(mut self) -> Self {
        self.send(Event::Begin);
        self
    }

    pub(super) fn resume(mut self) -> Self {
        self.send(Event::Resume { retry_failed: false, still_running: Vec::new() });
        self
    }

    /// The work of a step ends now.
    pub(super) fn end(&mut self, id: &str, outcome: WorkOutcome) -> &mut Self {
        let ended = self.now.running;
        self.end_at(id, outcome, ended)
    }

    /// The work of a step ended at some time.
    pub(super) fn end_at(&mut self, id: &str, outcome: WorkOutcome, ended: Duration) -> &mut Self {
        let step = self.at(id);
        let start = self.at_work.remove(&step).expect("the step is at work").start;
        self.send(Event::WorkEnded { start, outcome, ended })
    }

    pub(super) fn done(&mut self, id: &str) -> &mut Self {
        self.end(id, WorkOutcome::Completed(output(id)))
    }

    pub(super) fn fail(&mut self, id: &str) -> &mut Self {
        self.end(id, failure())
    }

    pub(super) fn find(&mut self, id: &str, finding: Finding) -> &mut Self {
        let step = self.at(id);
        let start = self.machine.ledger.row(step).start;
        self.send(Event::Reviewed { start, finding })
    }

    pub(super) fn approve(&mut self, request: RequestId) -> Result<(), Refusal> {
        self.last.clear();
        self.try_send(Event::Approved { request, metadata: Metadata::new() })
    }

    /// Time passes, and the machine is told.
    pub(super) fn wait(&mut self, millis: u64) -> &mut Self {
        self.pass(millis);
        self.send(Event::Tick)
    }

    /// Time passes, and nobody tells.
    pub(super) fn pass(&mut self, millis: u64) -> &mut Self {
        self.now.unix_millis += millis;
        self.now.running += ms(millis);
        self
    }

    pub(super) fn working(&self) -> Vec<String> {
        self.at_work.keys().map(|step| self.name(*step)).collect()
    }

    /// Who started, in order.
    pub(super) fn order(&self) -> Vec<String> {
        self.starts.iter().map(|start| self.name(start.step)).collect()
    }

    pub(super) fn status(&self, id: &str) -> StepStatus {
        self.machine.status(self.at(id))
    }

    pub(super) fn code(&self, id: &str) -> Option<StepErrorCode> {
        self.machine.error(self.at(id)).map(|error| error.code)
    }

    /// The open gates.
    pub(super) fn gates(&self) -> Vec<(String, RequestId)> {
        let gate = |pending: crate::machine::Pending| match pending.kind {
            PendingKind::Approval { request } => Some((self.name(pending.step), request)),
            PendingKind::Question { .. } => None,
        };
        self.machine.pending().filter_map(gate).collect()
    }

    pub(super) fn records(&self) -> Vec<&Record> {
        self.journal.iter().map(|entry| &entry.record).collect()
    }
}
