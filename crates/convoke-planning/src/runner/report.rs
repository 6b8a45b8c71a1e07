//! What a run came to.

mod causes;
mod counts;

use std::{collections::HashMap, sync::Arc, time::Duration};

use convoke_core::{Artifact, Metadata, RunId, StepId, TaskOutput};
use serde::{Deserialize, Serialize};

use crate::{
    Diagram, Plan, StepIndex, StepStatus,
    machine::{Finding, Machine, PendingKind, StepError, StopReason},
};

use counts::Counts;

/// Where one step of a plan stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StepReport {
    /// Its status.
    pub status: StepStatus,
    /// How many of its attempts count.
    pub attempts: u32,
    /// What came out; of a completed step alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<TaskOutput>>,
    /// The error of its last attempt; gone once it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// The failed and blocked steps because of which it was skipped, in plan order.
    #[serde(default, skip_serializing_if = "no_causes")]
    pub skipped_because_of: Arc<[StepId]>,
    /// What the reflector said of the output, where it did not just pass it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// What whoever approved it attached.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub approval: Metadata,
    /// Whether its work was given up and may still run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub execution_detached: bool,
    /// Why the run ended that left it running; of a running step that is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// Whether the executor of such a step ends soon once it is asked to, as each that is detached was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executor_cooperative_cancellation: bool,
    /// Whether it was interrupted and must not be repeated unasked, since nobody knows whether it took effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outcome_unknown: bool,
    /// How long the work of its last attempt took, in milliseconds of running time: a review after it does not count, and
    /// what was given up took as long as until then. `None` before one has ended, and in a fork for what the other plan had
    /// done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_millis: Option<u64>,
}

fn no_causes(causes: &Arc<[StepId]>) -> bool {
    causes.is_empty()
}

/// What a step waits for a person to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PendingStep {
    /// The step.
    pub step: StepId,
    /// What it waits for.
    pub kind: PendingKind,
}

/// Why a run did not end as it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RunError {
    /// The step; `None` where it is the journal's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// What happened.
    pub message: String,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanRun {
    /// The plan, at its last revision.
    pub plan: Plan,
    /// The run: the same over all resumes.
    pub run: RunId,
    /// Where each step stands, in plan order; [`reports`](Self::reports) has the ids with them.
    pub steps: Vec<StepReport>,
    /// Why it ended.
    pub stop: StopReason,
    /// The open gates and questions, in plan order.
    pub pending: Vec<PendingStep>,
    /// How many starts there were in this run.
    pub executed: u64,
    /// How many steps are completed.
    pub completed: usize,
    /// How many steps failed.
    pub failed: usize,
    /// How many steps are blocked.
    pub blocked: usize,
    /// How many steps were skipped.
    pub skipped: usize,
    /// How many steps ran out of time.
    pub timed_out: usize,
    /// How many steps may still have work that runs.
    pub detached: usize,
    /// How long this run took, on tokio's clock.
    pub elapsed: Duration,
    /// How often an observer or a sink did not take an event.
    pub observer_failures: u64,
    /// The journal's error where the store failed; or that of a score that orders nothing; or else that of the first failed
    /// or blocked step in plan order.
    pub error: Option<RunError>,
}

impl PlanRun {
    pub(super) fn of(machine: &Machine, run: RunId) -> Self {
        let plan = machine.plan().clone();
        let mut causes = causes::of(machine);
        let mut report = |step: StepIndex| {
            // Most plans skip nothing.
            let because = if causes.is_empty() { None } else { causes.remove(&step) };
            StepReport::of(machine, step, because.unwrap_or_default())
        };
        let steps: Vec<_> = plan.indices().map(&mut report).collect();
        let of_score = machine
            .score_error()
            .map(|error| RunError { step: Some(error.step().clone()), message: error.to_string() });
        let of_step = || {
            let (step, error) = machine.first_error()?;
            Some(RunError { step: Some(plan.step(step)?.id.clone()), message: error.message.clone() })
        };
        let error = of_score.or_else(of_step);
        let ended = Counts::of(&steps);
        Self {
            run,
            stop: machine.stop().unwrap_or(StopReason::NoReadyStep),
            pending: pending(machine),
            executed: 0,
            completed: ended.completed,
            failed: ended.failed,
            blocked: ended.blocked,
            skipped: ended.skipped,
            timed_out: ended.timed_out,
            detached: ended.detached,
            elapsed: Duration::ZERO,
            observer_failures: 0,
            error,
            steps,
            plan,
        }
    }

    /// Whether there is a report for each step, and what is counted is what the reports say.
    pub(crate) fn is_consistent(&self) -> bool {
        self.steps.len() == self.plan.steps().len() && Counts::told_by(self) == Counts::of(&self.steps)
    }

    /// Where a step stands; `None` where the plan has no such step.
    pub fn step(&self, step: impl AsRef<str>) -> Option<&StepReport> {
        self.steps.get(self.plan.index_of(step)?.row())
    }

    /// Where the steps stand, each with its id, in plan order.
    pub fn reports(&self) -> impl Iterator<Item = (&StepId, &StepReport)> {
        self.plan.steps().iter().map(|step| &step.id).zip(&self.steps)
    }

    /// The text of a completed step.
    pub fn text(&self, step: impl AsRef<str>) -> Option<&str> {
        Some(&self.step(step)?.output.as_deref()?.text)
    }

    /// The outputs of the completed steps that nobody waits for, in plan order: what the plan was for.
    pub fn final_outputs(&self) -> impl Iterator<Item = (&StepId, &Arc<TaskOutput>)> {
        self.plan.sinks().filter_map(|sink| {
            let output = self.steps.get(sink.row())?.output.as_ref()?;
            Some((&self.plan.step(sink)?.id, output))
        })
    }

    /// The texts of the final outputs, a blank line between them.
    pub fn final_text(&self) -> String {
        let texts = self.final_outputs().map(|(_, output)| output.text.as_str());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The artifacts of the completed steps by step and name, in plan order; no two collide.
    pub fn artifacts(&self) -> impl Iterator<Item = (&StepId, &Artifact)> {
        self.plan.steps().iter().zip(&self.steps).flat_map(|(step, report)| {
            let artifacts = report.output.iter().flat_map(|output| &output.artifacts);
            artifacts.map(|artifact| (&step.id, artifact))
        })
    }

    /// A picture of the run: the plan's, with status, time taken and cause of each step.
    pub fn diagram(&self) -> Diagram<'_> {
        let report = |step: StepIndex| self.steps.get(step.row());
        self.plan
            .diagram()
            .with_statuses(move |step| report(step).map_or(StepStatus::Pending, |step| step.status))
            .with_notes(move |step| report(step).map(StepReport::note).unwrap_or_default())
    }

    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        self.diagram().to_mermaid()
    }

    /// The picture in the DOT language of Graphviz.
    pub fn to_dot(&self) -> String {
        self.diagram().to_dot()
    }
}

impl StepReport {
    fn of(machine: &Machine, step: StepIndex, skipped_because_of: Arc<[StepId]>) -> Self {
        let left = machine.left_running(step);
        Self {
            status: machine.status(step),
            attempts: machine.attempts(step),
            output: machine.outputs().get(step).cloned(),
            error: machine.error(step).map(|error| StepError::clone(&error)),
            skipped_because_of,
            finding: machine.finding(step).cloned(),
            approval: machine.approval(step).cloned().unwrap_or_default(),
            execution_detached: machine.is_detached(step),
            stop: left.map(|(stop, _)| stop),
            executor_cooperative_cancellation: left.is_some_and(|(_, cooperative)| cooperative),
            outcome_unknown: machine.is_outcome_unknown(step),
            took_millis: machine.took_millis(step),
        }
    }

    /// What a picture says of it besides the status: how long it took, and why it came to nothing.
    fn note(&self) -> String {
        // What is to be tried again has a past, and it is not what the picture is about.
        let has_ended = self.status != StepStatus::Pending;
        let took = self.took_millis.filter(|_| has_ended).map(|took| format!("{took} ms"));
        let code = self.error.as_ref().filter(|_| has_ended);
        let code = code.map(|error| error.code.to_string());
        let causes: Vec<_> = self.skipped_because_of.iter().map(StepId::as_str).collect();
        let causes = (!causes.is_empty()).then(|| format!("because of {}", causes.join(", ")));
        [took, code, causes].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn pending(machine: &Machine) -> Vec<PendingStep> {
    let plan = machine.plan();
    let named = |pending: crate::machine::Pending| {
        Some(PendingStep { step: plan.step(pending.step)?.id.clone(), kind: pending.kind })
    };
    machine.pending().filter_map(named).collect()
}

/// Where a plan stands, running or not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanProgress {
    /// The plan.
    pub plan: Plan,
    /// The run.
    pub run: RunId,
    /// How many steps stand so; a status that no step has is left out.
    pub counts: HashMap<StepStatus, usize>,
    /// Where each step stands, in plan order.
    pub steps: Vec<StepStatus>,
    /// The open gates and questions, in plan order.
    pub pending: Vec<PendingStep>,
    /// How often steps started, over all resumes.
    pub starts: u64,
    /// Why the last run ended; `None` while one is going on, and where its process ended before it did.
    pub stop: Option<StopReason>,
}

impl PlanProgress {
    pub(super) fn of(machine: &Machine, run: RunId, stop: Option<StopReason>) -> Self {
        let plan = machine.plan().clone();
        let steps: Vec<_> = plan.indices().map(|step| machine.status(step)).collect();
        let counts = StepStatus::ALL.iter().map(|status| (*status, machine.count_of(*status)));
        Self {
            run,
            counts: counts.filter(|(_, count)| *count > 0).collect(),
            steps,
            pending: pending(machine),
            starts: machine.starts(),
            stop,
            plan,
        }
    }

    /// Where a step stands; `None` where the plan has no such step.
    pub fn status(&self, step: impl AsRef<str>) -> Option<StepStatus> {
        self.steps.get(self.plan.index_of(step)?.row()).copied()
    }
}
