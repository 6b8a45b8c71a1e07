//! How many steps came to what.

use crate::{PlanRun, StepReport, StepStatus, machine::StepErrorCode};

/// How many steps ended in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) blocked: usize,
    pub(super) skipped: usize,
    pub(super) timed_out: usize,
    pub(super) detached: usize,
}

impl Counts {
    pub(super) fn of(steps: &[StepReport]) -> Self {
        let count = |is: &dyn Fn(&StepReport) -> bool| steps.iter().filter(|step| is(step)).count();
        let in_status = |status| count(&|step| step.status == status);
        let timed_out = |step: &StepReport| {
            step.error.as_ref().is_some_and(|error| error.code == StepErrorCode::StepTimeout)
        };
        Self {
            completed: in_status(StepStatus::Completed),
            failed: in_status(StepStatus::Failed),
            blocked: in_status(StepStatus::Blocked),
            skipped: in_status(StepStatus::Skipped),
            timed_out: count(&timed_out),
            detached: count(&|step| step.execution_detached),
        }
    }

    pub(super) fn told_by(run: &PlanRun) -> Self {
        let PlanRun { completed, failed, blocked, skipped, timed_out, detached, .. } = *run;
        Self { completed, failed, blocked, skipped, timed_out, detached }
    }
}
