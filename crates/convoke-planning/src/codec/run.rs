//! What a run came to, as a document.

use std::time::Duration;

use convoke_core::{RunId, StepId};
use serde::{Deserialize, Serialize};

use crate::{
    CodecError, PendingStep, Plan, PlanRun, RunError, StepReport,
    codec::{
        FORMAT_VERSION,
        document::{self, Read, Written},
    },
    machine::StopReason,
};

/// What is said of a run in one form, with its plan and its steps as they are written or read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<P, S> {
    format_version: u64,
    run: RunId,
    stop: StopReason,
    completed: usize,
    failed: usize,
    blocked: usize,
    skipped: usize,
    timed_out: usize,
    detached: usize,
    executed: u64,
    elapsed: Duration,
    observer_failures: u64,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    error: Option<RunError>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pending: Vec<PendingStep>,
    steps: Vec<S>,
    plan: P,
}

/// A report with the step that it is of, for whoever reads the text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step<I, R> {
    step: I,
    report: R,
}

/// Writes a run.
pub(super) fn write(run: &PlanRun) -> Result<String, CodecError> {
    if !run.is_consistent() {
        return Err(CodecError::InconsistentRun);
    }
    let steps = run.plan.steps().iter().zip(&run.steps);
    document::to_json(&Document {
        format_version: FORMAT_VERSION,
        run: run.run.clone(),
        stop: run.stop,
        completed: run.completed,
        failed: run.failed,
        blocked: run.blocked,
        skipped: run.skipped,
        timed_out: run.timed_out,
        detached: run.detached,
        executed: run.executed,
        elapsed: run.elapsed,
        observer_failures: run.observer_failures,
        error: run.error.clone(),
        pending: run.pending.clone(),
        steps: steps.map(|(step, report)| Step { step: &step.id, report }).collect(),
        plan: Written::plan(&run.plan),
    })
}

/// Reads a run whose plan `check` takes.
pub(super) fn read(
    json: &str,
    check: impl FnOnce(Read) -> Result<Plan, CodecError>,
) -> Result<PlanRun, CodecError> {
    let document: Document<Read, Step<StepId, StepReport>> =
        serde_json::from_str(json).map_err(CodecError::MalformedRun)?;
    let plan = check(document.plan)?;
    let ids = plan.steps().iter().map(|step| &step.id);
    if !ids.eq(document.steps.iter().map(|step| &step.step)) {
        return Err(CodecError::InconsistentRun);
    }
    let run = PlanRun {
        plan,
        run: document.run,
        steps: document.steps.into_iter().map(|step| step.report).collect(),
        stop: document.stop,
        pending: document.pending,
        executed: document.executed,
        completed: document.completed,
        failed: document.failed,
        blocked: document.blocked,
        skipped: document.skipped,
        timed_out: document.timed_out,
        detached: document.detached,
        elapsed: document.elapsed,
        observer_failures: document.observer_failures,
        error: document.error,
    };
    if run.is_consistent() { Ok(run) } else { Err(CodecError::InconsistentRun) }
}
