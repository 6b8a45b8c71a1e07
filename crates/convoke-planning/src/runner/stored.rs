//! What can be done to a plan that the journal has, running or not, here or in another process.

use convoke_core::{
    Journal as _, JournalErrorKind, LogId, Metadata, PlanId, ReadFrom, Record, RunId, Signal, SignalId,
    StepId,
};
use serde_json::Value;

use crate::{
    Plan, PlanError, PlanProgress, PlanRunner, StepIndex,
    machine::{Capabilities, Command, Event, Machine, PendingKind, Refusal, RequestId},
    runner::{
        Settings,
        clock::Clock,
        live,
        log::{self, Head, Origin, Stored},
        signal::PlanSignal,
        writer::Writer,
    },
};

/// A stored plan as it was read, by whom it may be run or not.
struct Read {
    machine: Machine,
    stored: Stored,
}

/// Nothing is run here, so that no executor is asked about steps.
fn nobody(_: &Plan, _: StepIndex) -> Option<Capabilities> {
    None
}

impl Settings {
    async fn read(&self, plan: &PlanId) -> Result<Read, PlanError> {
        self.read_from(plan, ReadFrom::Latest, u64::MAX).await
    }

    /// The state after the record with the number `upto`, where that is there.
    async fn read_from(&self, plan: &PlanId, from: ReadFrom, upto: u64) -> Result<Read, PlanError> {
        let contents = self.journal()?.read(&LogId::of_plan(plan), from).await;
        let contents = contents.map_err(|error| PlanError::of_journal(plan, error))?;
        let mut stored = Stored::read(plan, &contents, upto)?;
        let machine = stored.replay(plan, self.policy.clone(), nobody)?;
        Ok(Read { machine, stored })
    }

    /// What is recorded of a reset.
    fn reset(
        &self,
        plan: &PlanId,
        step: &StepId,
        mut machine: Machine,
        head: &Head,
    ) -> Result<Vec<Command>, PlanError> {
        let unknown = || PlanError::UnknownStep { plan: plan.clone(), step: step.clone() };
        let index = machine.plan().index_of(step).ok_or_else(unknown)?;
        let now = Clock::new(self.wall.clone()).moment(true);
        let mut commands = Vec::new();
        let start = machine.last_start(index);
        if live::ended(&head.run, step, start).is_some() {
            let status = machine.status(index);
            return Err(Refusal::NotReset { step: step.clone(), status }.into());
        }
        // What an earlier process left behind has ended with it.
        if machine.is_detached(index) {
            machine.handle(now, Event::DetachedEnded { start }, &mut commands)?;
        }
        machine.handle(now, Event::ResetStep { step: index }, &mut commands)?;
        Ok(commands)
    }

    async fn signal(&self, plan: &PlanId, signal: PlanSignal) -> Result<(), PlanError> {
        let of_journal = |error| PlanError::of_journal(plan, error);
        let log = LogId::of_plan(plan);
        let body = signal.to_record().map_err(|error| of_journal(log::unwritable(plan, error)))?;
        self.journal()?.signal(&log, Signal::new(SignalId::random(), body)).await.map_err(of_journal)
    }
}

impl PlanRunner {
    /// The plans that the journal has, in the order of their logs.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it has changed nothing.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoJournal`], [`PlanError::List`].
    pub async fn plans(&self) -> Result<Vec<PlanId>, PlanError> {
        let logs = self.0.journal()?.list(LogId::PLANS).await.map_err(PlanError::List)?;
        let mut plans = Vec::with_capacity(logs.len());
        for log in logs {
            match log.plan() {
                Some(plan) => plans.push(plan),
                None => plans.extend(self.plan_in(&log).await),
            }
        }
        Ok(plans)
    }

    /// The plan that a log with a shortened id is of; `None` where it was deleted meanwhile, or cannot be read.
    async fn plan_in(&self, log: &LogId) -> Option<PlanId> {
        let contents = self.0.journal().ok()?.read(log, ReadFrom::Latest).await.ok()?;
        log::plan_within(&contents)
    }

    /// Where a stored plan stands, from the journal alone: also while another process runs it. Takes time with all that is
    /// kept of it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it has changed nothing.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotFound`], [`PlanError::Unreadable`], those of the journal.
    pub async fn status(&self, plan: &PlanId) -> Result<PlanProgress, PlanError> {
        let Read { machine, stored } = self.0.read(plan).await?;
        Ok(PlanProgress::of(&machine, stored.head.run, stored.stop))
    }

    /// Approves what a step of a stored plan waits for. Whoever runs the plan hears of it, or will when it is resumed.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have been said. Said again it counts once, or is refused as no longer open.
    ///
    /// # Errors
    ///
    /// [`PlanError::Refused`] where no such request is open, those of [`status`](Self::status).
    pub async fn approve(
        &self,
        plan: &PlanId,
        request: RequestId,
        metadata: Metadata,
    ) -> Result<(), PlanError> {
        self.check_gate(plan, request).await?;
        self.0.signal(plan, PlanSignal::Approve { request, metadata }).await
    }

    /// Denies what a step of a stored plan waits for.
    ///
    /// # Cancel safety
    ///
    /// As for [`approve`](Self::approve).
    ///
    /// # Errors
    ///
    /// As for [`approve`](Self::approve).
    pub async fn deny(
        &self,
        plan: &PlanId,
        request: RequestId,
        reason: impl Into<String>,
    ) -> Result<(), PlanError> {
        self.check_gate(plan, request).await?;
        self.0.signal(plan, PlanSignal::Deny { request, reason: reason.into() }).await
    }

    async fn check_gate(&self, plan: &PlanId, request: RequestId) -> Result<(), PlanError> {
        let Read { machine, .. } = self.0.read(plan).await?;
        let is_open = |pending: crate::machine::Pending| {
            pending.kind == PendingKind::Approval { request } && machine.request_of(pending.step) == request
        };
        if machine.pending().any(is_open) { Ok(()) } else { Err(Refusal::StaleApproval { request }.into()) }
    }

    /// Answers the question of a step of a stored plan.
    ///
    /// # Cancel safety
    ///
    /// As for [`approve`](Self::approve).
    ///
    /// # Errors
    ///
    /// [`PlanError::Refused`] where that start has none open, those of [`status`](Self::status).
    pub async fn answer(&self, plan: &PlanId, start: u64, answer: impl Into<Value>) -> Result<(), PlanError> {
        let Read { machine, .. } = self.0.read(plan).await?;
        let asks = |pending: crate::machine::Pending| matches!(pending.kind, PendingKind::Question { start: asking, .. } if asking == start);
        if !machine.pending().any(asks) {
            return Err(Refusal::StaleAnswer { start }.into());
        }
        self.0.signal(plan, PlanSignal::Answer { start, answer: answer.into() }).await
    }

    /// Asks whoever runs a stored plan to end the run; a later run is not meant.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have been said. To say it again does no harm: it ends no later run.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotRunning`] where the journal says that the last run has ended, those of [`status`](Self::status).
    pub async fn cancel(&self, plan: &PlanId) -> Result<(), PlanError> {
        let Read { stored, .. } = self.0.read(plan).await?;
        if stored.stop.is_some() || stored.since == 0 {
            return Err(PlanError::NotRunning { plan: plan.clone() });
        }
        self.0.signal(plan, PlanSignal::Cancel { since: stored.since }).await
    }

    /// Lets a failed, blocked or detached step of a stored plan start anew, and with it what was skipped because of it. Its
    /// attempts begin again, under a new key.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it has happened whole or not at all; [`status`](Self::status) tells which. Called again, it is refused where the
    /// step is pending already, and may be until the claim of the first call has ended.
    ///
    /// # Errors
    ///
    /// [`PlanError::Refused`] where the step is completed or pending, or its work still runs; [`PlanError::Claimed`] where
    /// the plan is being run.
    pub async fn reset_step(&self, plan: &PlanId, step: &StepId) -> Result<(), PlanError> {
        let (machine, head, mut writer) = self.0.load(plan, nobody).await?;
        let commands = self.0.reset(plan, step, machine, &head);
        let written = match commands {
            Ok(commands) => write(plan, &mut writer, commands).await,
            Err(error) => Err(error),
        };
        // Also where the step is not reset: whoever comes next finds the plan free.
        let released = writer.release().await.map_err(|error| PlanError::of_journal(plan, error));
        written.and(released)
    }

    /// Makes a new plan, under `id`, of how a stored plan stood after one of its records: with the outputs of the steps
    /// that were completed by then. It copies no claim and no approval; steps that were running or detached are pending,
    /// under keys of their own, and are listed. The original stays as it is. [`resume`](Self::resume) runs the fork.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have made the new plan whole, or left a log that the same call makes anew; that may be refused until the
    /// claim of the first call has ended. The original stays as it is.
    ///
    /// # Errors
    ///
    /// [`PlanError::Compacted`] where that record is not kept any more, [`PlanError::NoSuchRecord`] where it is not there
    /// yet, [`PlanError::BegunBefore`] where there is a plan of this id.
    pub async fn fork(&self, plan: &PlanId, at: u64, id: PlanId) -> Result<Fork, PlanError> {
        let head = self.0.read(plan).await?.stored.head;
        let read = self.0.read_from(plan, ReadFrom::Before(head.after(at)), at).await;
        let Read { machine, stored } = read.map_err(|error| compacted(error, plan, at, &head))?;
        if stored.last != at {
            return Err(PlanError::NoSuchRecord { plan: plan.clone(), asked: at, last: stored.last });
        }
        let (snapshot, restarted) = machine.snapshot().forked(id.clone());
        let origin = Origin { plan: plan.clone(), run: head.run, at };
        let (head, mut writer) = self.0.keep(snapshot.plan(), RunId::random(), Some(origin)).await?;
        let of_journal = |error| PlanError::of_journal(&id, error);
        let records = log::snapshot(&head, (0, None), &snapshot);
        writer.compact(records.map_err(|error| of_journal(log::unwritable(&id, error)))?);
        writer.settled().await.map_err(of_journal)?;
        writer.release().await.map_err(of_journal)?;
        Ok(Fork { plan: id, restarted })
    }

    /// Removes a stored plan.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have removed the plan, which the same call then does not find.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotFound`], [`PlanError::Claimed`] where it is being run.
    pub async fn delete(&self, plan: &PlanId) -> Result<(), PlanError> {
        self.0.journal()?;
        let log = LogId::of_plan(plan);
        let claim = self.0.claim(plan, &log).await?;
        // Where it fails, or nobody waits for it any more, the claim ends with this.
        let writer = self.0.writer(log, claim, claim.next)?;
        writer.delete().await.map_err(|error| PlanError::of_journal(plan, error))
    }
}

fn compacted(error: PlanError, plan: &PlanId, asked: u64, head: &Head) -> PlanError {
    match &error {
        PlanError::Journal { source, .. } => match source.kind() {
            JournalErrorKind::Compacted { oldest } => {
                let oldest = oldest.get().saturating_sub(head.after(0).get());
                PlanError::Compacted { plan: plan.clone(), asked, oldest }
            }
            _ => error,
        },
        _ => error,
    }
}

/// A plan that was made of another's past.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fork {
    /// The new plan.
    pub plan: PlanId,
    /// The steps that were running or detached there, and start anew here.
    pub restarted: Vec<StepId>,
}

/// Makes the records of commands durable.
async fn write(plan: &PlanId, writer: &mut Writer, commands: Vec<Command>) -> Result<(), PlanError> {
    let of_journal = |error| PlanError::of_journal(plan, error);
    let entries = commands.into_iter().filter_map(|command| match command {
        Command::Persist(entry) => Some(entry),
        _ => None,
    });
    let records: Result<Vec<Record>, _> = entries.map(|entry| entry.to_json().map(Record::from)).collect();
    let records = records.map_err(|error| of_journal(log::unwritable(plan, error)))?;
    writer.write(records).await.map_err(of_journal)
}
