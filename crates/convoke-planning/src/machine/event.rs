//! What the machine is told.

use std::{sync::Arc, time::Duration};

use convoke_core::{Metadata, ResumeToken, TaskOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Plan, StepIndex,
    machine::{capabilities::Capabilities, error::StepError, gate::RequestId},
};

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// By the wall clock, in milliseconds since 1970-01-01T00:00:00Z. It orders steps and gates their starts; it may jump.
    pub unix_millis: u64,
    /// By a clock that never goes back, since any moment that stays the same while the machine lives.
    pub running: Duration,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Run a plan that never ran.
    Begin,
    /// Run a plan whose records were replayed; one without records begins.
    Resume {
        /// Whether failed steps are reset first, except those whose work may still run.
        retry_failed: bool,
        /// The starts that an earlier run of this process gave up and whose work still runs. Such a step keeps its place and
        /// its serial turn until [`Event::DetachedEnded`], and is not reset, whatever the policy says of steps that were
        /// given up. A start that is not the last of its step is none of them. Of what was given up and is not named,
        /// [`reset_detached_on_resume`](crate::PlanPolicy::reset_detached_on_resume) decides.
        still_running: Vec<u64>,
    },
    /// All records up to this one are durable.
    Persisted {
        /// The number of the last.
        sequence: u64,
    },
    /// What was to be durable could not be made so. Nothing is recorded any more.
    StoreFailed,
    /// Somebody else has the plan now. Nothing is recorded any more.
    ClaimLost,
    /// The work of a start ended.
    WorkEnded {
        /// The start, from [`Command::Start`](crate::machine::Command::Start).
        start: u64,
        /// How.
        outcome: WorkOutcome,
        /// When it ended, on the clock of [`Moment::running`]; not when somebody looked. A moment that is still to come counts as
        /// the one at which the machine hears of it.
        ended: Duration,
    },
    /// Work that had been given up ended.
    DetachedEnded {
        /// The start.
        start: u64,
    },
    /// The reflector came to a finding.
    Reviewed {
        /// The start whose output it is.
        start: u64,
        /// The finding.
        finding: Finding,
    },
    /// The policy hook decided.
    HookDecided {
        /// The request, from [`Command::AskHook`](crate::machine::Command::AskHook).
        request: RequestId,
        /// What it decided.
        decision: HookDecision,
    },
    /// Somebody approved a step.
    Approved {
        /// The request of the gate.
        request: RequestId,
        /// What whoever approved attached; kept on the step.
        metadata: Metadata,
    },
    /// Somebody denied a step.
    Denied {
        /// The request of the gate.
        request: RequestId,
        /// Why.
        reason: String,
    },
    /// The approval provider has no answer for now; the gate stays open.
    Deferred {
        /// The request of the gate.
        request: RequestId,
    },
    /// Somebody answered the question of a step.
    Answered {
        /// The start that asked.
        start: u64,
        /// The answer.
        answer: Value,
    },
    /// The planner gave another plan: the next revision of the one at hand. Places are those of the new plan from now on.
    RevisionReady {
        /// The plan.
        plan: Plan,
        /// What the executors say of its steps, in plan order; `None` where nobody takes the step.
        executors: Vec<Option<Capabilities>>,
    },
    /// What the planner gave is no plan that could be run: it is asked once more, and then the failure stands.
    RevisionRefused {
        /// What is wrong with it.
        reason: String,
    },
    /// The planner gave no plan; the failure stands.
    RevisionFailed {
        /// Why.
        reason: String,
    },
    /// Time passed. Deliver first what ended before: a step's time is over when the machine is told so.
    Tick,
    /// End the run. Where none is going on, nothing happens.
    Cancel,
    /// Let a failed, blocked or detached step start anew.
    ResetStep {
        /// The step.
        step: StepIndex,
    },
}

/// How the work of a start ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WorkOutcome {
    /// Well.
    Completed(Arc<TaskOutput>),
    /// Badly; tried again while attempts remain.
    Failed(StepError),
    /// It cannot be done as things stand.
    Blocked {
        /// Why.
        error: StepError,
        /// Whether to try again while attempts remain.
        retryable: bool,
    },
    /// It stopped. Where nobody asked it to, that is a failure.
    Cancelled,
    /// By the executor's own clock its time was over.
    TimedOut {
        /// Whether something of it still runs; [`Event::DetachedEnded`] says when it does not.
        detached: bool,
    },
    /// It needs an answer to go on.
    Asked(Question),
}

/// What a step wants to know before it goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Question {
    /// What to ask, for a person.
    pub prompt: String,
    /// What the executor needs to go on; it gets it back with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ResumeToken>,
}

impl Question {
    /// A question to a person.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), token: None }
    }

    /// Keeps what the executor needs to go on.
    #[must_use]
    pub fn with_token(mut self, token: ResumeToken) -> Self {
        self.token = Some(token);
        self
    }
}

/// What a policy hook says of a step that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookDecision {
    /// It may start; a gate of its own stays.
    Allow,
    /// It may not.
    Deny {
        /// Why.
        reason: String,
    },
    /// It may start when somebody approves it.
    RequireApproval,
}

/// What a reflector says of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finding {
    /// It is good.
    Pass,
    /// It is good with this text instead of its own.
    Revise(String),
    /// It is rejected; the next attempt gets the note.
    Retry(String),
    /// It is rejected, and the planner is asked what to do instead; where it may not be, that is a failure.
    Replan(String),
    /// It is rejected for good.
    Block(String),
}
