//! Why a run did not begin, or an answer was not taken.

use convoke_core::{JournalError, JournalErrorKind, MAX_JSON_DEPTH, PlanId, StepId};

use crate::{
    InvalidPlan,
    machine::{RecordError, Refusal, ReplayError},
};

/// Any error, as hooks, providers, reflectors and planners return it; `?` makes one of whatever error there is.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a run did not begin, or a stored plan was not found as it should be.
///
/// What goes wrong once a run has begun is in its [`PlanRun`](crate::PlanRun).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The runner has no planner.
    #[error("runner has no planner; give it one, or run a plan")]
    NoPlanner,
    /// The planner gave no plan.
    #[error("planner gave no plan")]
    Planner(#[source] BoxError),
    /// The plan has errors. Nothing of it has run.
    #[error("plan is not valid")]
    Invalid(#[from] InvalidPlan),
    /// The run was cancelled before there was a plan.
    #[error("run was cancelled before there was a plan")]
    Cancelled,
    /// The runner has no journal.
    #[error("runner has no journal, so nothing is kept of its plans; give it one")]
    NoJournal,
    /// The plan was begun before.
    #[error("plan `{plan}` was begun before; resume it, delete it, or give the new one another id")]
    BegunBefore {
        /// The plan.
        plan: PlanId,
    },
    /// No plan of this id is kept.
    #[error("plan `{plan}` is not kept in the journal; run it first")]
    NotFound {
        /// The plan.
        plan: PlanId,
    },
    /// Another runner has the plan.
    #[error("plan `{plan}` is run by another runner; wait until that has ended, or end it with `cancel`")]
    Claimed {
        /// The plan.
        plan: PlanId,
        /// Who has it.
        #[source]
        source: JournalError,
    },
    /// The journal did not do as asked.
    #[error("journal does not keep plan `{plan}` as asked")]
    Journal {
        /// The plan.
        plan: PlanId,
        /// What went wrong.
        #[source]
        source: JournalError,
    },
    /// The journal does not say which plans it keeps.
    #[error("journal does not list its plans")]
    List(#[source] JournalError),
    /// What the journal keeps of the plan cannot be read.
    #[error("what is kept of plan `{plan}` cannot be read; nothing was changed")]
    Unreadable {
        /// The plan.
        plan: PlanId,
        /// What is wrong with it.
        #[source]
        source: UnreadableLog,
    },
    /// The plan is not as the call expects it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What was said nests more than [`MAX_JSON_DEPTH`] deep, and could not be kept.
    #[error("answer nests more than {MAX_JSON_DEPTH} levels deep; flatten it, or give it as text")]
    TooDeep,
    /// The plan has no such step.
    #[error("plan `{plan}` has no step `{step}`; name one that it has")]
    UnknownStep {
        /// The plan.
        plan: PlanId,
        /// The step.
        step: StepId,
    },
    /// The plan is not running, so there is nothing to cancel.
    #[error("plan `{plan}` is not running; there is nothing to cancel")]
    NotRunning {
        /// The plan.
        plan: PlanId,
    },
    /// The run is over, or was never there: the runtime ended before it did.
    #[error("run has ended; see its report, or resume the plan")]
    Ended,
    /// A record that is asked for is not kept any more.
    #[error(
        "record {asked} of plan `{plan}` is not kept any more (sequence_compacted); the oldest kept is {oldest}"
    )]
    Compacted {
        /// The plan.
        plan: PlanId,
        /// The record.
        asked: u64,
        /// The oldest from which on all are kept.
        oldest: u64,
    },
    /// The log has no such record yet.
    #[error("plan `{plan}` has no record {asked} yet; its last is {last}")]
    NoSuchRecord {
        /// The plan.
        plan: PlanId,
        /// The record.
        asked: u64,
        /// The last.
        last: u64,
    },
}

/// What is wrong with a stored plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadableLog {
    /// Its head is not there as a whole: the process ended while the plan was stored.
    #[error("its head was not written to its end; delete the plan and run it again")]
    Incomplete,
    /// Its head is none that this version can read.
    #[error("its head is malformed")]
    Head(#[source] BoxError),
    /// A record is none.
    #[error("record {sequence} is malformed")]
    Record {
        /// Its number.
        sequence: u64,
        /// Why.
        #[source]
        source: RecordError,
    },
    /// A record cannot follow those before it.
    #[error("its records are not those of one plan")]
    Replay(#[from] ReplayError),
}

impl PlanError {
    pub(super) fn of_journal(plan: &PlanId, source: JournalError) -> Self {
        let plan = plan.clone();
        match source.kind() {
            JournalErrorKind::NotFound => Self::NotFound { plan },
            JournalErrorKind::AlreadyExists => Self::BegunBefore { plan },
            JournalErrorKind::Claimed => Self::Claimed { plan, source },
            _ => Self::Journal { plan, source },
        }
    }

    pub(super) fn unreadable(plan: &PlanId, source: impl Into<UnreadableLog>) -> Self {
        Self::Unreadable { plan: plan.clone(), source: source.into() }
    }
}
