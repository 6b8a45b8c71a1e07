//! What the machine wants done.

use std::{sync::Arc, time::Duration};

use convoke_core::{TaskOutput, derived_id};
use serde_json::Value;

use crate::{
    Plan, StepIndex,
    machine::{capabilities::Placement, event::Question, gate::RequestId, record::Entry, stop::StopReason},
};

/// What is to be done. The order is that of the list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Write this record behind the others, sooner or later.
    Persist(Entry),
    /// Make durable now what is to be written, and say so with [`Event::Persisted`](crate::machine::Event::Persisted).
    Flush,
    /// A step became ready; for observers, and nothing else.
    Ready {
        /// The step.
        step: StepIndex,
    },
    /// Start the work of a step.
    Start(Start),
    /// Ask the work of a start to end.
    Stop {
        /// The step.
        step: StepIndex,
        /// The start.
        start: u64,
    },
    /// Ask the policy hook; answer with [`Event::HookDecided`](crate::machine::Event::HookDecided). It is asked about all
    /// steps that are ready, however many may run: bound there how many asks are under way.
    AskHook {
        /// The step.
        step: StepIndex,
        /// Names the request.
        request: RequestId,
    },
    /// Ask the approval provider; answer with `Approved`, `Denied` or `Deferred`. Without a provider, `Deferred`.
    AskApproval {
        /// The step.
        step: StepIndex,
        /// Names the request.
        request: RequestId,
    },
    /// Ask the reflector; answer with [`Event::Reviewed`](crate::machine::Event::Reviewed).
    Review {
        /// The step.
        step: StepIndex,
        /// The start whose output it is.
        start: u64,
        /// The output.
        output: Arc<TaskOutput>,
    },
    /// Ask the planner to revise the plan because of what this step came to; answer with `RevisionReady` or
    /// `RevisionFailed`, or `RevisionRefused` where what it gave is no plan. Nothing new starts before. It is asked once more
    /// where that is so, or its plan does not fit what has happened meanwhile.
    AskPlanner {
        /// The step that failed or is blocked.
        step: StepIndex,
        /// Why what it gave before was not taken; `None` at the first ask.
        refused: Option<String>,
    },
    /// Send [`Event::Tick`](crate::machine::Event::Tick) at this moment of the running clock, in place of any earlier
    /// wish; `None` takes the wish back. The wish holds until the time has come: a tick that comes early is no answer.
    WakeAt(Option<Duration>),
    /// The run is over. Nothing follows; what is detached may still run.
    Finish(StopReason),
}

/// A start of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Start {
    /// The step.
    pub step: StepIndex,
    /// The number of the start within the plan, from 1: a repeat has another.
    pub start: u64,
    /// The number of the attempt, from 1; a repeat after an interruption has the same.
    pub attempt: u32,
    /// How often the step's idempotency key has changed; [`key`](Self::key) makes it.
    pub generation: u32,
    /// When the work must have ended, on the running clock: the earlier of the step's and the run's time.
    pub deadline: Option<Duration>,
    /// The record of the start. What the step may see of other outputs is older:
    /// [`Outputs::as_of`](crate::machine::Outputs::as_of).
    pub sequence: u64,
    /// The answer to the question that the step asked before.
    pub answer: Option<Arc<Answer>>,
    /// What the reflector noted when it rejected the output before.
    pub note: Option<Arc<str>>,
    /// Who polls the work.
    pub placement: Placement,
}

impl Start {
    /// The idempotency key `<plan>/<step>/<generation>`, the same for whatever asks for the same effect. `plan` is the one
    /// that the machine had at the start.
    pub fn key(&self, plan: &Plan) -> String {
        let step = plan.step(self.step).map_or("", |step| step.id.as_str());
        idempotency_key(plan, step, self.generation)
    }
}

pub(super) fn idempotency_key(plan: &Plan, step: &str, generation: u32) -> String {
    derived_id([plan.id().as_str(), step, &generation.to_string()])
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The answer.
    pub answer: Value,
}
