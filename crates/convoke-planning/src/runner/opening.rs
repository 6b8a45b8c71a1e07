//! How a run is opened: where its plan comes from, who has it, what is known of it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use convoke_core::{Claim, Journal as _, JournalErrorKind, LogId, PlanId, ReadFrom, RunId, Scope};
use convoke_observability::drop_isolated;

use crate::{
    Plan, PlanStep, Planner as _, PlanningRequest, StepIndex,
    machine::{Capabilities, Durability, Event, Machine},
    runner::{
        PlanError, PlanWork, RunShared, Settings, UnreadableLog,
        clock::Clock,
        driver::{Driver, Opened, Teller},
        log::{Head, Origin, Stored},
        shared::Hub,
        writer::Writer,
    },
};

impl Settings {
    /// Opens a run of `work`.
    pub(super) async fn open(
        &self,
        work: PlanWork,
        retry_failed: bool,
        (scope, hub): (Scope, Hub),
        teller: &Teller,
    ) -> Result<Opened, PlanError> {
        let plan = match work {
            PlanWork::Goal(request) => {
                let stop = scope.cancellation().clone();
                let created = scope.wrap(self.create(*request));
                match stop.run_until_cancelled(created).await {
                    Some(plan) => plan?,
                    None => return Err(PlanError::Cancelled),
                }
            }
            PlanWork::Plan(plan) => plan,
            PlanWork::Stored(plan) => {
                return self.open_stored(&plan, retry_failed, (scope, hub), teller).await;
            }
        };
        let run = RunId::random();
        let kept = match &self.journal {
            Some(_) => Some(self.keep(&plan, run.clone(), None).await?),
            None => None,
        };
        let machine = self.machine(Machine::new(plan, self.policy.clone(), self.asking()), &scope);
        Ok(Opened {
            machine: machine.0,
            shared: Arc::new(RunShared::new(run, hub)),
            scope,
            clock: machine.1,
            kept,
            signals: Vec::new(),
            begin: Event::Begin,
        })
    }

    async fn create(&self, mut request: PlanningRequest) -> Result<Plan, PlanError> {
        let planner = self.planner.as_ref().ok_or(PlanError::NoPlanner)?;
        request.policy = self.policy.clone();
        if request.tools.is_empty() {
            request.tools.clone_from(&self.tools);
        }
        if request.agents.is_empty() {
            request.agents.clone_from(&self.agents);
        }
        let asked = AssertUnwindSafe(planner.create(request));
        let draft = match futures_util::FutureExt::catch_unwind(asked).await {
            Ok(draft) => draft.map_err(PlanError::Planner)?,
            Err(payload) => {
                let detail = convoke_observability::panic_detail(payload).unwrap_or_default();
                return Err(PlanError::Planner(format!("planner panicked: {detail}").into()));
            }
        };
        Ok(self.validator.validate(self.normalized(draft))?)
    }

    /// Asks the executor what it says of a step.
    pub(super) fn asking(&self) -> impl FnMut(&Plan, StepIndex) -> Option<Capabilities> {
        let executor = self.executor.clone();
        move |plan, step| plan.step(step).and_then(|step| super::capabilities(&executor, step))
    }

    /// The machine as the runner's settings want it, and the clock that it lives by.
    pub(super) fn machine(&self, machine: Machine, scope: &Scope) -> (Machine, Clock) {
        let clock = Clock::new(self.wall.clone());
        // What nobody keeps need not be waited for.
        let durability = if self.journal.is_some() { self.durability } else { Durability::OnExit };
        let mut machine = machine.with_durability(durability).with_seed(self.seed);
        if self.hook.is_some() {
            machine = machine.with_hook();
        }
        if self.reflector.is_some() {
            machine = machine.with_reflection();
        }
        if let Some(scorer) = self.scorer.clone() {
            machine = machine.with_scorer(move |plan: &Plan, step: &PlanStep| {
                // A panic orders nothing, and ends the run as such a score does.
                catch_unwind(AssertUnwindSafe(|| scorer.base(plan, step))).unwrap_or_else(|payload| {
                    drop_isolated(payload);
                    f64::NAN
                })
            });
        }
        let now = tokio::time::Instant::now();
        if let Some(deadline) = scope.child_deadline(now, self.policy.grace()) {
            machine = machine.with_deadline(clock.since_opened(deadline));
        }
        (machine, clock)
    }

    pub(super) async fn claim(&self, plan: &PlanId, log: &LogId) -> Result<Claim, PlanError> {
        let claimed = self.journal()?.claim(log, &self.owner, self.claim_ttl).await;
        claimed.map_err(|error| PlanError::of_journal(plan, error))
    }

    pub(super) fn journal(&self) -> Result<&convoke_core::AnyJournal, PlanError> {
        self.journal.as_ref().ok_or(PlanError::NoJournal)
    }

    /// Makes a log for a new plan, and claims it.
    pub(super) async fn keep(
        &self,
        plan: &Plan,
        run: RunId,
        forked: Option<Origin>,
    ) -> Result<(Head, Writer), PlanError> {
        let (id, journal, log) = (plan.id(), self.journal()?, LogId::of_plan(plan.id()));
        let of_journal = |error| PlanError::of_journal(id, error);
        let (head, records) = Head::records(plan, run, forked).map_err(of_journal)?;
        match journal.create(&log).await {
            Ok(()) => {}
            Err(error) if error.kind() == JournalErrorKind::AlreadyExists => {
                self.remove_unfinished(id, &log).await?;
                journal.create(&log).await.map_err(of_journal)?;
            }
            Err(error) => return Err(of_journal(error)),
        }
        let claim = self.claim(id, &log).await?;
        // From here on the claim ends with the writer.
        let mut writer = self.writer(log, claim, claim.next)?;
        match writer.write(records).await {
            Ok(()) => Ok((head, writer)),
            Err(error) => {
                // It is what was not written that matters.
                let _ = writer.release().await;
                Err(of_journal(error))
            }
        }
    }

    /// Removes a log whose head was never written to its end: nothing of it has run.
    async fn remove_unfinished(&self, plan: &PlanId, log: &LogId) -> Result<(), PlanError> {
        self.check_unfinished(plan, log).await?;
        let claim = self.claim(plan, log).await?;
        let writer = self.writer(log.clone(), claim, claim.next)?;
        // Until the claim, another runner may have finished it.
        self.check_unfinished(plan, log).await?;
        writer.delete().await.map_err(|error| PlanError::of_journal(plan, error))
    }

    async fn check_unfinished(&self, plan: &PlanId, log: &LogId) -> Result<(), PlanError> {
        let contents = self.journal()?.read(log, ReadFrom::Latest).await;
        let contents = contents.map_err(|error| PlanError::of_journal(plan, error))?;
        match Stored::read(plan, &contents, 0) {
            Err(PlanError::Unreadable { source: UnreadableLog::Incomplete, .. }) => Ok(()),
            _ => Err(PlanError::BegunBefore { plan: plan.clone() }),
        }
    }

    pub(super) fn writer(
        &self,
        log: LogId,
        claim: Claim,
        next: convoke_core::Sequence,
    ) -> Result<Writer, PlanError> {
        let settings = (self.durability, self.claim_ttl);
        Ok(Writer::new(self.journal()?.clone(), log, claim, settings, next))
    }

    /// Claims a stored plan and replays it.
    pub(super) async fn load(
        &self,
        plan: &PlanId,
        executor: impl FnMut(&Plan, StepIndex) -> Option<Capabilities>,
    ) -> Result<(Machine, Head, Writer), PlanError> {
        let (journal, log) = (self.journal()?, LogId::of_plan(plan));
        let claim = self.claim(plan, &log).await?;
        let writer = self.writer(log.clone(), claim, claim.next)?;
        let read = async {
            let contents = journal.read(&log, ReadFrom::Latest).await;
            let contents = contents.map_err(|error| PlanError::of_journal(plan, error))?;
            let mut stored = Stored::read(plan, &contents, u64::MAX)?;
            let machine = stored.replay(plan, self.policy.clone(), executor)?;
            Ok((machine, stored.head))
        };
        match read.await {
            Ok((machine, head)) => Ok((machine, head, writer)),
            Err(error) => {
                // It is what was read that matters.
                let _ = writer.release().await;
                Err(error)
            }
        }
    }

    async fn open_stored(
        &self,
        plan: &PlanId,
        retry_failed: bool,
        (scope, hub): (Scope, Hub),
        teller: &Teller,
    ) -> Result<Opened, PlanError> {
        let (machine, head, writer) = self.load(plan, self.asking()).await?;
        let signals = writer.waiting_signals().await.map_err(|error| PlanError::of_journal(plan, error))?;
        let (machine, clock) = self.machine(machine, &scope);
        let shared = Arc::new(RunShared::new(head.run.clone(), hub));
        let still_running = Driver::still_running(&machine, &shared, teller);
        Ok(Opened {
            machine,
            shared,
            scope,
            clock,
            kept: Some((head, writer)),
            signals,
            begin: Event::Resume { retry_failed, still_running },
        })
    }
}
