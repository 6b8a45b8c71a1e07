//! What the machine tells of a plan.

use std::{collections::HashSet, sync::Arc};

use convoke_core::Metadata;
use serde::{Deserialize, Serialize};

use crate::{
    Plan, ScoreError, StepIndex, StepStatus, Wait,
    machine::{
        Closing, Finding, Machine, Outputs, Question, RequestId, Snapshot, StepError, StepInput, StopReason,
        command::idempotency_key, ledger::Mark, phase::Phase,
    },
};

/// What a step waits for a person to say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pending {
    /// The step.
    pub step: StepIndex,
    /// What it waits for.
    pub kind: PendingKind,
}

/// What a person is to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PendingKind {
    /// Whether the step may start.
    Approval {
        /// Names the request, for the answer.
        request: RequestId,
    },
    /// What the step needs to go on.
    Question {
        /// The start that asked, for the answer.
        start: u64,
        /// What it asks.
        question: Question,
    },
}

impl Machine {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All that the records so far say, to be kept in their place. Looks at the whole plan.
    ///
    /// It holds records that may not be durable yet, so write it behind them. A machine that was told
    /// [`StoreFailed`](crate::machine::Event::StoreFailed) or [`ClaimLost`](crate::machine::Event::ClaimLost) knows more than
    /// was recorded: its snapshots are not to be written.
    pub fn snapshot(&self) -> Snapshot {
        self.ledger.snapshot()
    }

    /// Where a step stands. A place that the plan does not have is pending for ever.
    pub fn status(&self, step: StepIndex) -> StepStatus {
        self.ledger.status(step)
    }

    /// How many steps stand so.
    pub fn count_of(&self, status: StepStatus) -> usize {
        self.ledger.count(status)
    }

    /// How many attempts of a step count: not those that an interruption or the end of a run took back, nor the one that
    /// a question waits in.
    pub fn attempts(&self, step: StepIndex) -> u32 {
        self.ledger.row(step).attempts
    }

    /// How often steps started, every start counted, over all resumes.
    pub fn starts(&self) -> u64 {
        self.ledger.starts()
    }

    /// How long the work of the last attempt took, from the record of its start to that of its end, in milliseconds of running
    /// time. `None` before one has ended, once another has started, and in a fork for what the other plan had done.
    pub fn took_millis(&self, step: StepIndex) -> Option<u64> {
        let row = self.ledger.row(step);
        row.took_millis.filter(|_| row.start > 0)
    }

    /// The error of the last attempt; gone once the step is completed or reset.
    pub fn error(&self, step: StepIndex) -> Option<Arc<StepError>> {
        self.ledger.row(step).error.clone()
    }

    /// The first failed or blocked step in plan order, and its error. Looks at the whole plan.
    pub fn first_error(&self) -> Option<(StepIndex, Arc<StepError>)> {
        let ended = |step: &StepIndex| matches!(self.status(*step), StepStatus::Failed | StepStatus::Blocked);
        self.plan.indices().filter(ended).find_map(|step| Some((step, self.error(step)?)))
    }

    /// The score that orders nothing, because of which this run ended or is ending. It is not on record: the step is
    /// pending, and a later run asks the scorer again.
    pub fn score_error(&self) -> Option<&ScoreError> {
        self.score_error.as_ref()
    }

    /// The outputs of completed steps.
    pub fn outputs(&self) -> &Outputs {
        self.ledger.outputs()
    }

    /// The input that an attempt of the step gets now.
    pub fn input(&self, step: StepIndex) -> StepInput {
        self.ledger.input(step)
    }

    /// The idempotency key of a step, `<plan>/<step>/<generation>`: equal over crashes and failed attempts, new after an
    /// output was rejected and after a reset.
    pub fn key(&self, step: StepIndex) -> String {
        idempotency_key(&self.plan, self.name(step), self.ledger.row(step).generation)
    }

    /// What whoever approved the step attached.
    pub fn approval(&self, step: StepIndex) -> Option<&Metadata> {
        self.ledger.notes(step).map(|notes| &notes.approval).filter(|approval| !approval.is_empty())
    }

    /// What the reflector said of the output of a completed step, where that changed it: one that passed has none, and of a
    /// rejected one [`error`](Self::error) tells.
    pub fn finding(&self, step: StepIndex) -> Option<&Finding> {
        self.ledger.notes(step).and_then(|notes| notes.finding.as_ref())
    }

    /// Whether work of the step was given up and may still run.
    pub fn is_detached(&self, step: StepIndex) -> bool {
        self.ledger.row(step).mark == Mark::Detached
    }

    /// Why the run ended that left a step running, and whether its executor ends soon once it is asked to, as it was; `None`
    /// where no run did.
    pub fn left_running(&self, step: StepIndex) -> Option<(StopReason, bool)> {
        let row = self.ledger.row(step);
        let is_left = row.mark == Mark::Detached && self.status(step) == StepStatus::Running;
        row.left.filter(|_| is_left).map(|left| (left.stop, left.cooperative))
    }

    /// Whether the step was interrupted and must not be repeated unasked, since nobody knows whether it took effect.
    pub fn is_outcome_unknown(&self, step: StepIndex) -> bool {
        self.ledger.row(step).mark == Mark::OutcomeUnknown
    }

    /// The open gates and questions, in plan order, whatever else has happened.
    pub fn pending(&self) -> impl Iterator<Item = Pending> + '_ {
        self.ledger.noted().filter_map(|(step, notes)| {
            if !self.ledger.is_ready(step) {
                return None;
            }
            let question = notes.question.clone().filter(|_| notes.answer.is_none());
            let kind = match (question, notes.gate) {
                (Some(question), _) => PendingKind::Question { start: self.ledger.row(step).start, question },
                (None, Some(request)) => PendingKind::Approval { request },
                (None, None) => return None,
            };
            Some(Pending { step, kind })
        })
    }

    /// The failed and blocked steps because of which a step was skipped, in plan order; none for a step that was not.
    /// Takes time with the steps before it.
    pub fn skip_causes(&self, step: StepIndex) -> Vec<StepIndex> {
        let mut causes = Vec::new();
        let mut seen = HashSet::from([step]);
        let mut skipped = if self.status(step) == StepStatus::Skipped { vec![step] } else { Vec::new() };
        while let Some(step) = skipped.pop() {
            for edge in self.plan.dependencies(step).filter(|edge| edge.wait == Wait::Completed) {
                if !seen.insert(edge.step) {
                    continue;
                }
                match self.status(edge.step) {
                    StepStatus::Failed | StepStatus::Blocked => causes.push(edge.step),
                    StepStatus::Skipped => skipped.push(edge.step),
                    _ => {}
                }
            }
        }
        causes.sort_unstable();
        causes
    }

    /// Why the run ended; `None` before [`Command::Finish`](crate::machine::Command::Finish).
    pub fn stop(&self) -> Option<StopReason> {
        match self.closing {
            Some(Closing::Done(stop)) => Some(stop),
            Some(Closing::At(_)) | None => None,
        }
    }

    /// The number of the last record; 0 before the first.
    pub(crate) fn sequence(&self) -> u64 {
        self.ledger.sequence()
    }

    /// Why the run ends, once that is recorded, though it may not be durable yet.
    pub(crate) fn recorded_stop(&self) -> Option<StopReason> {
        match self.closing {
            Some(Closing::At(stop) | Closing::Done(stop)) => Some(stop),
            None => None,
        }
    }

    /// The starts whose work may still run: it was given up, or no record says what came of it.
    pub(crate) fn open_starts(&self) -> impl Iterator<Item = (StepIndex, u64)> + '_ {
        let is_open = |step: &StepIndex| self.is_detached(*step) || self.status(*step) == StepStatus::Running;
        self.plan.indices().filter(is_open).map(|step| (step, self.ledger.row(step).start))
    }

    /// The starts whose work was given up and still runs, as far as this run knows. Where there are any, it looks
    /// at the whole plan.
    pub(crate) fn given_up(&self) -> impl Iterator<Item = (StepIndex, u64)> + '_ {
        let given_up = self.plan.indices().filter(|step| self.phase(*step) == Phase::Detached);
        let given_up = given_up.take(self.phases.count(Phase::Detached));
        given_up.map(|step| (step, self.ledger.row(step).start))
    }

    /// Whether any work is under way that was not given up.
    pub(crate) fn is_at_work(&self) -> bool {
        self.phases.count(Phase::Running) + self.phases.count(Phase::Stopping) > 0
    }

    /// The number of the last start of a step; 0 before the first.
    pub(crate) fn last_start(&self, step: StepIndex) -> u64 {
        self.ledger.row(step).start
    }

    /// The request that an approval of the step would have to name now.
    pub(crate) fn request_of(&self, step: StepIndex) -> RequestId {
        self.request(step)
    }

    pub(super) fn is_stopped_by_failure(&self) -> bool {
        let ended = self.count_of(StepStatus::Failed) + self.count_of(StepStatus::Blocked);
        ended > 0 && !self.policy.continue_after_failure()
    }
}
