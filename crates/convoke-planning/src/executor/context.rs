//! What an attempt of a step knows of its surroundings.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use convoke_core::{Artifact, RunId, Scope, TaskOutput};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Plan, PlanStep, StepIndex,
    machine::{Answer, Outputs, Start},
    runner::{Progress, RunShared},
};

/// What an attempt of a step knows of its surroundings: the plan and what had come of it when the attempt was dispatched,
/// its deadline, and where to say how far it is. Cloning is cheap.
///
/// The scope is the current one while the attempt is polled, so that work which it asks of others ends with it.
#[derive(Clone)]
pub struct StepContext {
    shared: Arc<Surroundings>,
    start: Start,
    /// Made by whoever asks for it: most never do.
    key: OnceLock<String>,
}

/// What attempts share that have their time in common.
pub(crate) struct Surroundings {
    pub(crate) plan: Plan,
    pub(crate) outputs: Outputs,
    pub(crate) scope: Scope,
    pub(crate) run: Arc<RunShared>,
}

impl StepContext {
    pub(crate) fn new(shared: Arc<Surroundings>, start: Start) -> Self {
        Self { shared, start, key: OnceLock::new() }
    }

    /// The plan, at the revision of the dispatch.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// The step.
    pub fn step(&self) -> &PlanStep {
        self.shared.plan.own_step(self.start.step)
    }

    /// Where the step is in the plan.
    pub fn index(&self) -> StepIndex {
        self.start.step
    }

    /// The run of the plan, the same over all resumes; a fork and a second run of the same plan have others.
    pub fn run(&self) -> &RunId {
        self.shared.run.id()
    }

    /// The number of the attempt, from 1; a repeat after an interruption has the same.
    pub fn attempt(&self) -> u32 {
        self.start.attempt
    }

    /// The key `<plan>/<step>/<generation>`, the same for whatever asks for the same effect: equal over crashes and failed
    /// attempts; new when an output was rejected, at a reset, and when a revision changed the step.
    pub fn idempotency_key(&self) -> &str {
        self.key.get_or_init(|| self.start.key(&self.shared.plan))
    }

    /// What the reflector noted when it rejected the output of the attempt before.
    pub fn note(&self) -> Option<&str> {
        self.start.note.as_deref()
    }

    /// The answer to the question that this attempt asked before.
    pub fn answer(&self) -> Option<&Answer> {
        self.start.answer.as_deref()
    }

    /// The output of another step, where it was completed when this attempt was dispatched.
    pub fn output(&self, step: impl AsRef<str>) -> Option<&Arc<TaskOutput>> {
        self.shared.outputs.get_as_of(self.shared.plan.index_of(step)?, self.start.sequence)
    }

    /// An artifact by the step that made it and its name.
    pub fn artifact(&self, step: impl AsRef<str>, name: &str) -> Option<&Artifact> {
        self.output(step)?.artifacts.iter().find(|artifact| artifact.id.as_str() == name)
    }

    /// When the work must have ended: the earlier of the step's and the run's time.
    pub fn deadline(&self) -> Option<Instant> {
        self.shared.scope.deadline()
    }

    /// How long the work has until then, zero when it is over; `None` means for ever.
    pub fn remaining_time(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Signalled when the work is to end.
    pub fn cancellation(&self) -> &CancellationToken {
        self.shared.scope.cancellation()
    }

    /// Whether the work is to end.
    pub fn is_cancelled(&self) -> bool {
        self.shared.scope.is_cancelled()
    }

    /// The scope of the work.
    pub fn scope(&self) -> &Scope {
        &self.shared.scope
    }

    /// Says how far the work is, from 0 to 1, and what it is doing. Who follows the run through
    /// [`PlanHandle::updates`](crate::PlanHandle::updates) hears of it; nothing is kept.
    pub fn progress(&self, fraction: f32, note: impl Into<String>) {
        self.shared.run.tell_progress(|| Progress {
            step: self.step().id.clone(),
            fraction: if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) },
            note: note.into(),
        });
    }
}

impl fmt::Debug for StepContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepContext")
            .field("plan", self.shared.plan.id())
            .field("step", &self.step().id)
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
