//! The plan machine: what happens to the steps of a plan, decided without doing any of it.
//!
//! An [`Event`] goes in, [`Command`]s come out. The machine holds no lock and no task, reads no clock, does no I/O and
//! draws no chance: time and a seed are inputs, and the same events give the same commands. Whoever drives it does three
//! things: carries out commands in their order, tells of each what became of it, and sends [`Event::Tick`] when
//! [`Command::WakeAt`] asks for it.
//!
//! # How to drive it
//!
//! 1. [`Machine::new`] with what the executors say of each step, or [`Machine::replay`] where the plan has records, or
//!    [`Machine::restore`] where a [`Snapshot`] stands for the first of them.
//! 2. [`Event::Begin`], or [`Event::Resume`]. Answers of people ([`Event::Approved`], [`Event::Denied`],
//!    [`Event::Answered`]) and [`Event::ResetStep`] are taken before that too: they only give records.
//! 3. Carry out commands until [`Command::Finish`], which comes once, last, and surely: each command that asks for an
//!    answer must get one. What is under way besides a `Finish` is detached; its end may be lost.
//!
//! Batch what is at hand: give the machine all events that have come before carrying out commands, ends of work before
//! ticks. Work that ended in time counts whenever the machine hears of it, unless its grace was over before.
//!
//! Work is named by the number of its start, which holds for ever; a [`StepIndex`] is a place in one revision of the plan,
//! and means another step once [`Event::RevisionReady`] was taken.
//!
//! An event that is refused changes nothing, and it is no fault of the driver: a hook may answer after what it was asked
//! about has been reset. An end of work that is told twice, or of a start that is not the last of its step, does nothing.
//!
//! # What is durable when
//!
//! Each transition of a step is one [`Command::Persist`]. Records are written in order; which of them become durable together is
//! up to the writer. [`Command::Flush`] asks for it now and [`Event::Persisted`] answers. Under [`Durability::Strict`] a
//! [`Command::Start`] comes when the record of the start is durable, and so is the completion that it follows from, which
//! has a smaller number: the two come in one batch and share a commit. Under the others, that holds for steps with
//! [side effects](Effects::SideEffect) alone. A hook, a provider, a reflector and a place that is not free are never waited
//! for before a flush. `Finish` follows when every record is durable, whatever the durability.
//!
//! Time is on record with each transition alone: of a process that was killed, what it ran after its last record is not
//! counted against `run_timeout`.
//!
//! All that is durable is a function of the records. The machine changes it by none other than the functions that replay
//! them, so a replayed machine knows what the live one knew.
//!
//! # What it costs
//!
//! An event costs time with the edges that leave its step, and the logarithm of the steps that are ready or at work.
//! Five look at the whole plan: beginning, resuming, resetting, revising and ending it early. Nothing recurses over the graph.
//!
//! # Example
//!
//! A driver that does everything at once and keeps its journal in memory:
//!
//! ```
//! use std::{collections::VecDeque, sync::Arc};
//!
//! use convoke_core::TaskOutput;
//! use convoke_planning::{
//!     PlanDraft, PlanPolicy, PlanValidator, StepDraft,
//!     machine::{Capabilities, Command, Event, Machine, Moment, StopReason, WorkOutcome},
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let draft = PlanDraft::new("publish")
//!     .with_step(StepDraft::new("write").titled("Write"))
//!     .with_step(StepDraft::new("check").titled("Read again").input_from("write"));
//! let plan = PlanValidator::default().validate(draft)?;
//! let mut machine = Machine::new(plan.clone(), PlanPolicy::default(), |_, _| Some(Capabilities::new()));
//!
//! let (mut journal, mut commands) = (Vec::new(), Vec::new());
//! let mut events = VecDeque::from([Event::Begin]);
//! let now = Moment::default();
//! while let Some(event) = events.pop_front() {
//!     machine.handle(now, event, &mut commands)?;
//!     for command in commands.drain(..) {
//!         match command {
//!             Command::Persist(entry) => journal.push(entry),
//!             Command::Flush => events.push_back(Event::Persisted { sequence: journal.len() as u64 }),
//!             Command::Start(start) => {
//!                 let input = machine.input(start.step).text;
//!                 let outcome = WorkOutcome::Completed(Arc::new(TaskOutput::text(format!("did {input}"))));
//!                 events.push_back(Event::WorkEnded { start: start.start, outcome, ended: now.running });
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(machine.stop(), Some(StopReason::Completed));
//!
//! let again = Machine::replay(plan.clone(), PlanPolicy::default(), journal, |_, _| Some(Capabilities::new()))?;
//! for step in plan.indices() {
//!     assert_eq!(again.outputs().get(step), machine.outputs().get(step));
//! }
//! # Ok(())
//! # }
//! ```

mod capabilities;
mod command;
mod dispatch;
mod durability;
mod ending;
mod error;
mod event;
mod gate;
mod input;
mod ledger;
mod outputs;
mod phase;
mod record;
mod resume;
mod revision;
mod serial;
mod settle;
mod snapshot;
mod stop;
mod timers;
mod turn;
mod view;

pub use capabilities::{Capabilities, Effects, Placement};
pub use command::{Answer, Command, Start};
pub use durability::Durability;
pub use error::{Refusal, ReplayError, StepError, StepErrorCode};
pub use event::{Event, Finding, HookDecision, Moment, Question, WorkOutcome};
pub use gate::RequestId;
pub use input::StepInput;
pub use outputs::Outputs;
pub(crate) use record::plan_codec;
pub use record::{Entry, RECORD_VERSION, Record, RecordError};
pub use snapshot::Snapshot;
pub use stop::StopReason;
pub use view::{Pending, PendingKind};

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    time::Duration,
};

use crate::{Plan, PlanPolicy, PriorityScorer, ReadyQueue, ScoreError, StepIndex};

use ending::Ending;
use ledger::Ledger;
use phase::{Phase, Phases};
use revision::Asking;
use serial::{Executor, Serials};
use timers::Timers;

/// Decides what happens to the steps of one plan. See the [module](self) for how to drive it.
pub struct Machine {
    plan: Plan,
    policy: PlanPolicy,
    settings: Settings,
    executors: Vec<Option<Executor>>,
    ledger: Ledger,
    run: Option<Run>,
    phases: Phases,
    queue: ReadyQueue,
    serials: Serials,
    /// Steps whose situation may have changed.
    agenda: VecDeque<StepIndex>,
    /// Starts whose records are to become durable first, by the number of the record.
    held: VecDeque<(u64, StepIndex)>,
    /// Who asks what of hooks and providers.
    requests: HashMap<RequestId, StepIndex>,
    timers: Timers,
    /// Steps whose end a planner may be asked about.
    failures: VecDeque<StepIndex>,
    asking: Option<Asking>,
    /// Why no further step starts, where a score orders nothing.
    score_error: Option<ScoreError>,
    ending: Option<Ending>,
    closing: Option<Closing>,
    /// Whether the wall clock moves a step of the plan before another.
    has_deadlines: bool,
    /// Whether records go nowhere any more.
    muted: bool,
    /// Whether nobody wants to be told of records, nor of steps that are ready.
    unheard: bool,
    /// The last record that is durable.
    persisted: u64,
    /// The last record that a flush was asked for.
    flushed: u64,
    wake: Option<Duration>,
    #[cfg(test)]
    work: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    durability: Durability,
    hook: bool,
    reflection: bool,
    seed: u64,
    deadline: Option<Duration>,
}

/// A run that was begun.
#[derive(Clone, Copy, Debug)]
struct Run {
    began: Duration,
    elapsed_before: u64,
    starts: u64,
    deadline: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum Closing {
    /// Decided, and not yet durable.
    At(StopReason),
    /// Over.
    Done(StopReason),
}

impl Machine {
    /// A machine for a plan that nothing is known of. What an executor says of its steps is asked once for each, in plan
    /// order; `None` says that nobody takes the step, which blocks it when its turn comes.
    pub fn new(
        plan: Plan,
        policy: PlanPolicy,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Self {
        Self::of(Ledger::new(plan), policy, executor)
    }

    /// A machine for a plan of which earlier runs are recorded: the plan as it was first begun, and all records, in order.
    /// What an executor says is asked of the steps of the last revision.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] where the records are not those of this plan.
    pub fn replay(
        plan: Plan,
        policy: PlanPolicy,
        entries: impl IntoIterator<Item = Entry>,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<Self, ReplayError> {
        Self::grown(Ledger::new(plan), policy, entries, executor)
    }

    /// A machine for a plan of which the past is a snapshot and the records that follow it, in order. It is the machine that
    /// all records would make.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] where the snapshot says what no run can have left, or the records do not follow it.
    pub fn restore(
        snapshot: &Snapshot,
        policy: PlanPolicy,
        entries: impl IntoIterator<Item = Entry>,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<Self, ReplayError> {
        Self::grown(Ledger::restored(snapshot)?, policy, entries, executor)
    }

    fn grown(
        mut ledger: Ledger,
        policy: PlanPolicy,
        entries: impl IntoIterator<Item = Entry>,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<Self, ReplayError> {
        for entry in entries {
            ledger.append(&entry)?;
        }
        Ok(Self::of(ledger, policy, executor))
    }

    fn of(
        ledger: Ledger,
        policy: PlanPolicy,
        mut executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Self {
        let plan = ledger.plan().clone();
        let steps = plan.steps().len();
        let mut serials = Serials::default();
        Self {
            executors: plan.indices().map(|step| Some(serials.executor(executor(&plan, step)?))).collect(),
            queue: ReadyQueue::new(&plan, policy.prioritization().clone()),
            phases: Phases::new(steps),
            settings: Settings::default(),
            serials,
            run: None,
            agenda: VecDeque::new(),
            held: VecDeque::new(),
            requests: HashMap::new(),
            timers: Timers::default(),
            failures: VecDeque::new(),
            asking: None,
            score_error: None,
            ending: None,
            closing: None,
            has_deadlines: has_deadlines(&plan),
            muted: false,
            unheard: false,
            persisted: ledger.sequence(),
            flushed: ledger.sequence(),
            ledger,
            wake: None,
            #[cfg(test)]
            work: 0,
            plan,
            policy,
        }
    }

    /// Sets when records become durable; strictly unless set.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Asks a policy hook about each attempt of a step that is ready and was not approved.
    #[must_use]
    pub fn with_hook(mut self) -> Self {
        self.settings.hook = true;
        self
    }

    /// Has outputs reviewed before steps are completed.
    #[must_use]
    pub fn with_reflection(mut self) -> Self {
        self.settings.reflection = true;
        self
    }

    /// Sets what the random part of waits comes from; 0 unless set.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Ends the run by a moment of the running clock as it would end by its
    /// [`run_timeout`](PlanPolicy::run_timeout), with [`StopReason::RunTimeout`]; the earlier of the two holds. None unless
    /// set. A moment that is over when the run begins lets nothing start.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// Asks another scorer which of the ready steps is first.
    ///
    /// A score that orders nothing ends the run with [`StopReason::InvalidScore`]: nothing starts any more, what is at work
    /// ends, and [`score_error`](Self::score_error) names the step, which stays pending.
    #[must_use]
    pub fn with_scorer(mut self, scorer: impl PriorityScorer) -> Self {
        self.queue = self.queue.with_scorer(scorer);
        self
    }

    /// Says whether records, and steps that are ready, are told from now on; a driver that has nobody to tell them to saves
    /// their way.
    pub(crate) fn tell_records(&mut self, told: bool) {
        self.unheard = !told;
    }

    /// Whether it matters what time it is by the wall clock.
    pub(crate) fn asks_for_wall_time(&self) -> bool {
        // With another plan, it may from now on.
        self.has_deadlines || self.asking.is_some() || self.policy.no_start_after_unix_millis().is_some()
    }

    /// Takes an event, and says what is to be done. An end of work that is told twice, or of an earlier start, does nothing.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where what the event asks is not done. Nothing has changed then.
    pub fn handle(&mut self, now: Moment, event: Event, out: &mut Vec<Command>) -> Result<(), Refusal> {
        if let Some(Closing::Done(_)) = self.closing {
            return Err(Refusal::Ended);
        }
        self.take(now, event, out)?;
        self.advance(now, out);
        Ok(())
    }

    /// Whether the run was begun and has not been closed.
    fn is_running(&self) -> bool {
        self.run.is_some() && self.closing.is_none()
    }

    /// Whether nothing starts any more.
    fn is_halted(&self) -> bool {
        self.ending.is_some() || self.score_error.is_some() || self.is_stopped_by_failure()
    }

    fn holds_starts(&self) -> bool {
        self.settings.durability == Durability::Strict && !self.muted
    }

    fn phase(&self, step: StepIndex) -> Phase {
        self.phases.of(step)
    }

    fn enter(&mut self, step: StepIndex, phase: Phase) {
        self.phases.enter(step, phase);
    }

    fn has_executor(&self, step: StepIndex) -> bool {
        self.executors.get(step.row()).is_some_and(Option::is_some)
    }

    fn executor(&self, step: StepIndex) -> Executor {
        self.executors.get(step.row()).copied().flatten().unwrap_or_default()
    }

    fn name(&self, step: StepIndex) -> &str {
        self.plan.step(step).map_or("", |step| step.id.as_str())
    }

    /// Counts what tests want to see bounded.
    #[cfg(test)]
    fn count(&mut self) {
        self.work += 1;
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the twin that tests use counts")]
    fn count(&mut self) {}
}

fn has_deadlines(plan: &Plan) -> bool {
    plan.steps().iter().any(|step| step.signals.deadline_unix_millis.is_some())
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("plan", self.plan.id())
            .field("sequence", &self.ledger.sequence())
            .field("run", &self.run)
            .field("active", &self.phases.count_active())
            .field("ready", &self.queue.len())
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
