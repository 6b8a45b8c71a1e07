//! What a run tells of itself: ids, states, codes; no input and no output travels in it.

use std::{fmt, sync::Arc, time::Duration};

use convoke_core::{PlanId, RunId, StepId};
use convoke_observability::{Event, EventId, ObserverError};

use crate::machine::{StepErrorCode, StopReason};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// What happened to a plan or to one of its steps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum PlanEventKind {
            $($(#[$doc])* $name,)*
        }

        impl PlanEventKind {
            /// The name in `snake_case`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

kinds! {
    /// A plan runs for the first time.
    Created = "created";
    /// A plan is resumed.
    Resumed = "resumed";
    /// All that a step waits for has come.
    StepReady = "step_ready";
    /// The work of a step starts.
    StepStarted = "step_started";
    /// A step is completed.
    StepCompleted = "step_completed";
    /// An attempt failed, and another follows.
    AttemptFailed = "attempt_failed";
    /// A step failed.
    StepFailed = "step_failed";
    /// A step failed because its time was over.
    StepTimedOut = "step_timed_out";
    /// A step is blocked.
    StepBlocked = "step_blocked";
    /// A step will not run because of those before it.
    StepSkipped = "step_skipped";
    /// The run ended while a step ran on.
    StepDetached = "step_detached";
    /// A start was taken back, interrupted, or reset: the step is pending again.
    StepReleased = "step_released";
    /// A reflector looked at the output of a step, and did not just pass it.
    StepReflected = "step_reflected";
    /// A step waits for an approval.
    ApprovalRequired = "approval_required";
    /// Somebody approved a step.
    Approved = "approved";
    /// A step asked a question.
    QuestionAsked = "question_asked";
    /// Somebody answered it.
    QuestionAnswered = "question_answered";
    /// A planner is asked for another plan.
    RevisionAsked = "revision_asked";
    /// There is another plan.
    Revised = "revised";
    /// There is none, and the step's end stands.
    RevisionFailed = "revision_failed";
    /// All that was recorded so far is durable.
    Checkpointed = "checkpointed";
    /// The run was cancelled.
    Cancelled = "cancelled";
    /// The run is over.
    Finished = "finished";
}

/// What happened to a plan or to one of its steps. It has no field for what a step gets or gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanEvent {
    /// What happened.
    pub kind: PlanEventKind,
    /// The plan.
    pub plan: PlanId,
    /// The run of it.
    pub run: RunId,
    /// The step, where it is about one.
    pub step: Option<StepId>,
    /// The attempt of it that this is about, from 1; `None` where none is under way.
    pub attempt: Option<u32>,
    /// Why a step failed or is blocked.
    pub code: Option<StepErrorCode>,
    /// Why the run is over.
    pub stop: Option<StopReason>,
    /// The trace that the run belongs to.
    pub trace_id: Option<Arc<str>>,
    /// How long the run has lasted, on tokio's clock.
    pub elapsed: Duration,
}

impl PlanEvent {
    /// The same as a common event, for sinks that take events of every kind. `unix_millis` is the time of day.
    pub fn to_event(&self, id: EventId, unix_millis: u64) -> Event {
        let subject = self.step.as_ref().map_or(self.plan.as_str(), StepId::as_str);
        let mut event = Event::new(id, unix_millis, "planning", self.kind.as_str(), subject)
            .with_elapsed(self.elapsed)
            .with_attribute("plan", self.plan.as_str().to_owned())
            .with_attribute("run", self.run.as_str().to_owned());
        if let Some(step) = &self.step {
            event = event.with_step(step.clone());
        }
        if let Some(attempt) = self.attempt {
            event = event.with_attempt(attempt);
        }
        if let Some(stop) = self.stop {
            event = event.with_status(stop.as_str());
        }
        if let Some(code) = self.code {
            event = event.with_attribute("code", code.as_str());
        }
        match &self.trace_id {
            Some(trace_id) => event.with_trace_id(Arc::clone(trace_id)),
            None => event,
        }
    }
}

/// Takes the events of runs. A function of an event is one that never fails.
///
/// # Contract
///
/// Called by the runner between its decisions, in order, for all that it decides, durable yet or not. It must not block:
/// the run waits for it.
///
/// # Errors
///
/// Counted in [`PlanRun::observer_failures`](crate::PlanRun::observer_failures), and nothing else.
///
/// # Panics
///
/// Taken as errors.
pub trait PlanObserver: Send + Sync + 'static {
    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Whatever kept the observer from taking it.
    fn observe(&self, event: &PlanEvent) -> Result<(), ObserverError>;
}

impl<F: Fn(&PlanEvent) + Send + Sync + 'static> PlanObserver for F {
    fn observe(&self, event: &PlanEvent) -> Result<(), ObserverError> {
        self(event);
        Ok(())
    }
}

/// Any observer.
#[derive(Clone)]
pub(crate) struct AnyObserver(pub(crate) Arc<dyn PlanObserver>);

impl fmt::Debug for AnyObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyObserver")
    }
}
