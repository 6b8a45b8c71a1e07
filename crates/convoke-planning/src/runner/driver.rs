//! Carries out what the plan machine decides, and tells it what comes of that.

mod asks;
mod inbox;
mod keeping;
mod telling;
mod work;
mod workers;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    future::poll_fn,
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use convoke_core::{Record, Scope, SignalId, StepId};
use futures_util::{
    FutureExt as _,
    stream::{FuturesUnordered, StreamExt as _},
};
use tokio::{
    sync::{Semaphore, oneshot},
    task::{AbortHandle, JoinSet},
    time::{Sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    PlanDraft, StepStatus, StillRunning,
    executor::Surroundings,
    machine::{Command, Event, Machine, Moment, Refusal, RequestId, Start, WorkOutcome},
    runner::{
        PlanError, PlanProgress, PlanRun, RunShared, Settings,
        clock::Clock,
        live::{self, Live},
        log::Head,
        report::RunError,
        writer::Writer,
    },
};

use work::Work;

pub(super) use inbox::{Inbox, Teller};

/// How many asks of hooks, and how many of providers, are under way at most.
const MAX_ASKS: usize = 16;

/// What comes to a run from its own work and from whoever has its handle.
pub(super) enum Told {
    Event(Event),
    /// The planner has answered.
    Revision(Result<PlanDraft, String>),
    /// Somebody wants an event to happen, and to know whether it did.
    Call(Event, oneshot::Sender<Result<(), PlanError>>),
    /// Somebody wants to know where the plan stands.
    Status(oneshot::Sender<PlanProgress>),
}

/// What a run is made of.
pub(super) struct Opened {
    pub(super) machine: Machine,
    pub(super) shared: Arc<RunShared>,
    pub(super) scope: Scope,
    pub(super) clock: Clock,
    pub(super) kept: Option<(Head, Writer)>,
    /// Signals that had come before the run was opened.
    pub(super) signals: Vec<convoke_core::Signal>,
    /// How the run begins.
    pub(super) begin: Event,
}

/// A run that goes on.
pub(super) struct Driver {
    settings: Arc<Settings>,
    machine: Machine,
    shared: Arc<RunShared>,
    scope: Scope,
    clock: Clock,
    head: Option<Head>,
    writer: Option<Writer>,
    /// The signals that this run has heard, since they may be told twice.
    heard: HashSet<SignalId>,
    inbox: Inbox,
    /// Inline work that was not polled yet. Most ends when it is, and needs no place among the others.
    fresh: VecDeque<Work>,
    inline: FuturesUnordered<Work>,
    /// The scopes of work under way, by the number of its start, where steps have a time of their own.
    scopes: BTreeMap<u64, Scope>,
    /// The scope of all work where they have none: it is told to stop all at once or not at all.
    work_scope: Option<Scope>,
    /// What the work that starts knows; the same for all that has no time of its own, at this revision of the plan.
    surroundings: Option<Arc<Surroundings>>,
    /// Whether an earlier run of this process has left work behind, which a start must not run beside.
    has_earlier: bool,
    /// Starts whose end came when the machine took no word any more.
    ended_late: Vec<u64>,
    /// What goes on though the run is over.
    left_behind: BTreeMap<u64, Live>,
    /// The attempts that are under way, by what was told of them.
    attempts: HashMap<StepId, u32>,
    asks: JoinSet<()>,
    may_ask: Arc<Semaphore>,
    /// The same for providers, which wait for people: hooks do not wait for those.
    may_ask_people: Arc<Semaphore>,
    /// Who is asked for an approval, by request.
    asked_people: HashMap<RequestId, AbortHandle>,
    /// Who said something that is not durable yet, by the record that is to be.
    unacknowledged: VecDeque<(u64, oneshot::Sender<Result<(), PlanError>>)>,
    timer: Option<std::pin::Pin<Box<Sleep>>>,
    wants_tick: bool,
    /// What came, and was not told to the machine yet.
    came: VecDeque<Told>,
    commands: Vec<Command>,
    observer_failures: u64,
    store_error: Option<String>,
    /// The record with which this run began.
    since: u64,
    starts_before: u64,
    finished: bool,
}

impl Driver {
    pub(super) fn new(settings: Arc<Settings>, opened: Opened, inbox: Inbox) -> Self {
        let (head, writer) = opened.kept.unzip();
        tell_of_cancellation(opened.scope.cancellation().clone(), inbox.teller().clone());
        let has_earlier = live::is_any(opened.shared.id());
        let mut driver = Self {
            starts_before: opened.machine.starts(),
            settings,
            machine: opened.machine,
            shared: opened.shared,
            scope: opened.scope,
            clock: opened.clock,
            head,
            writer,
            heard: HashSet::new(),
            inbox,
            fresh: VecDeque::new(),
            inline: FuturesUnordered::new(),
            scopes: BTreeMap::new(),
            work_scope: None,
            surroundings: None,
            has_earlier,
            ended_late: Vec::new(),
            left_behind: BTreeMap::new(),
            attempts: HashMap::new(),
            asks: JoinSet::new(),
            may_ask: Arc::new(Semaphore::new(MAX_ASKS)),
            may_ask_people: Arc::new(Semaphore::new(MAX_ASKS)),
            asked_people: HashMap::new(),
            unacknowledged: VecDeque::new(),
            timer: None,
            wants_tick: false,
            came: VecDeque::new(),
            commands: Vec::new(),
            observer_failures: 0,
            store_error: None,
            since: 0,
            finished: false,
        };
        // An earlier run may have left some under way.
        let machine = &driver.machine;
        let steps = machine.plan().steps().iter().zip(machine.plan().indices());
        let running = steps.filter(|(_, index)| machine.status(*index) == StepStatus::Running);
        driver.attempts = running.map(|(step, index)| (step.id.clone(), machine.attempts(index))).collect();
        // What people have said meanwhile comes first, so that a run does not end for want of it.
        driver.hear(opened.signals);
        driver.came.push_back(Told::Event(opened.begin));
        driver
    }

    /// Runs to the end.
    pub(super) async fn run(&mut self) -> PlanRun {
        loop {
            self.turn();
            if self.finished {
                break;
            }
            self.compact();
            poll_fn(|cx| self.poll(cx)).await;
            // A plan of inline steps would have the thread for itself.
            tokio::task::consume_budget().await;
        }
        self.asks.abort_all();
        // Where the store failed, whoever waits hears that the run is over, and no more.
        self.unacknowledged.clear();
        // Whoever gets the claim next must know what still works.
        let live =
            self.goes_on().map(|(step, start)| (start, Live::new(self.shared.id().clone(), step, start)));
        self.left_behind = live.collect();
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.release().await
        {
            // Everything was durable before, or the store's error is known.
            self.store_error.get_or_insert_with(|| convoke_core::error_chain(&error));
        }
        self.report()
    }

    /// What this run started and gave up, and has not heard the end of.
    fn goes_on(&self) -> impl Iterator<Item = (StepId, u64)> {
        let goes_on = |start: &u64| *start > self.starts_before && !self.ended_late.contains(start);
        let own = self.machine.given_up().filter(move |(_, start)| goes_on(start));
        own.filter_map(|(step, start)| Some((self.machine.plan().step(step)?.id.clone(), start)))
    }

    fn report(&self) -> PlanRun {
        let mut run = PlanRun::of(&self.machine, self.shared.id().clone());
        run.executed = self.machine.starts().saturating_sub(self.starts_before);
        run.elapsed = self.clock.running();
        run.observer_failures = self.observer_failures;
        if let Some(message) = self.store_error.clone() {
            run.error = Some(RunError { step: None, message });
        }
        run
    }

    /// Keeps what goes on in this process though the run is over until that has ended.
    pub(super) async fn keep(mut self) {
        while !self.left_behind.is_empty() {
            poll_fn(|cx| self.poll(cx)).await;
            for told in mem::take(&mut self.came) {
                if let Told::Event(event) = &told
                    && let Some(start) = ended(event)
                {
                    self.left_behind.remove(&start);
                }
            }
        }
    }

    /// Tells the machine what came, and does what it says.
    fn turn(&mut self) {
        let now = self.clock.moment(self.machine.asks_for_wall_time());
        self.machine.tell_records(self.writer.is_some() || self.is_observed());
        loop {
            while let Some(told) = self.came.pop_front() {
                self.tell_machine(now, told);
            }
            if mem::take(&mut self.wants_tick) {
                let _ = self.handle(now, Event::Tick);
            }
            let mut commands = mem::take(&mut self.commands);
            for command in commands.drain(..) {
                self.carry_out(command);
            }
            self.commands = commands;
            if self.came.is_empty() || self.finished {
                break;
            }
        }
    }

    fn tell_machine(&mut self, now: Moment, told: Told) {
        match told {
            Told::Event(event) => _ = self.handle(now, event),
            Told::Call(event, answer) => match self.handle(now, event) {
                Ok(()) => self.acknowledge(answer),
                // Whoever asked may have gone.
                Err(refusal) => _ = answer.send(Err(refusal.into())),
            },
            Told::Status(answer) => {
                let stop = self.machine.stop();
                let _ = answer.send(PlanProgress::of(&self.machine, self.shared.id().clone(), stop));
            }
            Told::Revision(draft) => self.revision(now, draft),
        }
    }

    fn handle(&mut self, now: Moment, event: Event) -> Result<(), Refusal> {
        let ended = ended(&event);
        let answered = match &event {
            Event::Approved { request, .. } | Event::Denied { request, .. } | Event::Deferred { request } => {
                Some(*request)
            }
            _ => None,
        };
        if matches!(event, Event::Begin | Event::Resume { .. }) {
            self.since = self.machine.sequence().saturating_add(1);
        }
        let taken = self.machine.handle(now, event, &mut self.commands);
        if let Some(start) = ended {
            self.scopes.remove(&start);
            if taken.is_err() {
                self.ended_late.push(start);
            }
        }
        if taken.is_ok()
            && let Some(asked) = answered.and_then(|request| self.asked_people.remove(&request))
        {
            // Somebody else may have answered.
            asked.abort();
        }
        taken
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Persist(entry) => {
                self.observe_record(&entry.record);
                if self.writer.is_some() {
                    match entry.to_json() {
                        Ok(json) => self.write(Record::from(json)),
                        Err(error) => self.store_failed(convoke_core::error_chain(&error), None),
                    }
                }
            }
            Command::Flush => match &mut self.writer {
                Some(writer) => writer.flush(),
                None => self.came.push_back(Told::Event(Event::Persisted { sequence: u64::MAX })),
            },
            Command::Ready { step } => self.observe_ready(step),
            Command::Start(start) => self.start(start),
            Command::Stop { start, .. } => {
                if let Some(scope) = self.work_scope.as_ref().or_else(|| self.scopes.get(&start)) {
                    scope.cancel();
                }
            }
            Command::AskHook { step, request } => self.ask_hook(step, request),
            Command::AskApproval { step, request } => self.ask_approval(step, request),
            Command::Review { step, start, output } => self.ask_reflector(step, start, output),
            Command::AskPlanner { step, refused } => self.ask_planner(step, refused),
            Command::WakeAt(at) => {
                let at = at.and_then(|at| self.clock.at(at));
                self.timer = at.map(|at| Box::pin(sleep_until(at)));
            }
            Command::Finish(stop) => {
                self.finished = true;
                self.observe_end(stop);
            }
        }
    }

    fn start(&mut self, start: Start) {
        // Somebody else may have the plan by now, or nobody waits for it any more: what was decided is not done.
        let is_over = if self.writer.as_ref().is_some_and(Writer::has_expired) {
            Some(Event::ClaimLost)
        } else if self.scope.is_cancelled() {
            Some(Event::Cancel)
        } else {
            None
        };
        if let Some(is_over) = is_over {
            let ended = Event::WorkEnded {
                start: start.start,
                outcome: WorkOutcome::Cancelled,
                ended: self.clock.running(),
            };
            self.came.extend([is_over, ended].map(Told::Event));
            return;
        }
        self.observe_start(&start);
        let surroundings = self.surround(&start);
        if let Some(work) = self.begin(start, &surroundings) {
            self.fresh.push_back(work);
        }
    }

    /// What the work of a start knows besides that.
    fn surround(&mut self, start: &Start) -> Arc<Surroundings> {
        if self.work_scope.is_some()
            && let Some(surroundings) = &self.surroundings
        {
            return Arc::clone(surroundings);
        }
        let surroundings = Surroundings {
            plan: self.machine.plan().clone(),
            outputs: self.machine.outputs().clone(),
            scope: self.scope_of(start),
            run: Arc::clone(&self.shared),
        };
        Arc::clone(self.surroundings.insert(Arc::new(surroundings)))
    }

    /// The scope in which the work of a start is done.
    fn scope_of(&mut self, start: &Start) -> Scope {
        if let Some(scope) = &self.work_scope {
            return scope.clone();
        }
        let of_start = start.deadline.and_then(|deadline| self.clock.at(deadline));
        let deadline = of_start.into_iter().chain(self.scope.deadline()).min();
        let scope = self.scope.clone().with_cancellation(CancellationToken::new()).with_deadline(deadline);
        if self.settings.policy.step_timeout().is_none() {
            self.work_scope = Some(scope.clone());
        } else {
            self.scopes.insert(start.start, scope.clone());
        }
        scope
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_inline(cx);
        // Who has something to do waits for nothing more.
        if self.came.is_empty() || self.inbox.has_come() {
            self.inbox.poll(cx, &mut self.came);
        }
        while !self.asks.is_empty() && self.asks.poll_join_next(cx).is_ready() {}
        self.poll_log(cx);
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            self.timer = None;
            self.wants_tick = true;
        }
        if self.came.is_empty() && !self.wants_tick { Poll::Pending } else { Poll::Ready(()) }
    }

    fn poll_inline(&mut self, cx: &mut Context<'_>) {
        while !self.inline.is_empty()
            && let Poll::Ready(Some(ended)) = self.inline.poll_next_unpin(cx)
        {
            self.inline_ended(ended);
        }
        // After the others: what is not ready has this task's waker, and its turn when that was woken.
        while let Some(mut work) = self.fresh.pop_front() {
            match work.poll_unpin(cx) {
                Poll::Ready(ended) => self.inline_ended(ended),
                Poll::Pending => self.inline.push(work),
            }
        }
    }

    fn inline_ended(&mut self, (ended, still_running): (Event, Option<StillRunning>)) {
        if let (Some(still_running), Event::WorkEnded { start, .. }) = (still_running, &ended) {
            work::await_rest(self.inbox.teller().clone(), *start, still_running);
        }
        self.came.push_back(Told::Event(ended));
    }

    /// What an earlier run left behind in this process, and tells when that ends.
    pub(super) fn still_running(machine: &Machine, shared: &RunShared, teller: &Teller) -> Vec<u64> {
        let mut still_running = Vec::new();
        for (step, start) in machine.open_starts() {
            let Some(step) = machine.plan().step(step) else { continue };
            let Some(ended) = live::ended(shared.id(), &step.id, start) else { continue };
            still_running.push(start);
            let (teller, run) = (teller.clone(), shared.hub().ended().clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = ended.cancelled() => {
                        let _ = teller.tell(Told::Event(Event::DetachedEnded { start }));
                    }
                    () = run.cancelled() => {}
                }
            });
        }
        still_running
    }
}

/// The start whose work has ended with this, all of it.
fn ended(event: &Event) -> Option<u64> {
    match event {
        Event::WorkEnded { outcome: WorkOutcome::TimedOut { detached: true }, .. } => None,
        Event::WorkEnded { start, .. } | Event::DetachedEnded { start } => Some(*start),
        _ => None,
    }
}

/// Tells a run that it is to end, in a task that ends with it: to look at each turn would cost more than the turn. The token
/// is the run's own, and is signalled when the run is over, whatever the reason.
fn tell_of_cancellation(cancelled: CancellationToken, teller: Teller) {
    tokio::spawn(async move {
        cancelled.cancelled().await;
        // The run may be over.
        let _ = teller.tell(Told::Event(Event::Cancel));
    });
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The runtime has ended, or the run; what still works has nobody to tell.
        let is_at_work = self.machine.is_at_work() || self.goes_on().next().is_some();
        let shared = self.work_scope.iter().filter(|_| is_at_work);
        for scope in self.scopes.values().chain(shared) {
            scope.cancel();
        }
    }
}
