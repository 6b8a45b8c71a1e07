//! How many steps came to what.

use crate::{PlanRun, StepReport, StepStatus, machine::StepErrorCode};

/// How many steps ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        let mut counts = Self::default();
        for step in steps {
            match step.status {
                StepStatus::Completed => counts.completed += 1,
                StepStatus::Failed => counts.failed += 1,
                StepStatus::Blocked => counts.blocked += 1,
                StepStatus::Skipped => counts.skipped += 1,
                StepStatus::Pending | StepStatus::Running => {}
            }
            let timed_out = step.error.as_ref().is_some_and(|error| error.code == StepErrorCode::StepTimeout);
            counts.timed_out += usize::from(timed_out);
            counts.detached += usize::from(step.execution_detached);
        }
        counts
    }

    pub(super) fn told_by(run: &PlanRun) -> Self {
        let PlanRun { completed, failed, blocked, skipped, timed_out, detached, .. } = *run;
        Self { completed, failed, blocked, skipped, timed_out, detached }
    }
}
