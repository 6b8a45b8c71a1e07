//! What is to be done about a task as it stands: pure.
//!
//! The session's commit comes before the plan's record. A process that ends in between leaves a task that is further than
//! its step, and the step is started again under the same attempt and key; so is one whose run was told to end. What the
//! task came to is taken where it was made for exactly this attempt, this key and as many answers, and is an end that the
//! plan would have recorded: an output or a question. A failure is not taken: nobody can tell the agent's own from that
//! of work that was interrupted, or was made to stop.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use convoke_core::{TaskReport, TaskStatus};
use convoke_session::TaskRecord;

use crate::StepMark;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Take what was recorded.
    Take(Arc<TaskReport>),
    /// Have another attempt of the task, after this.
    Attempt {
        /// The open pause of the task is one that nobody will answer.
        withdraw: bool,
        /// The pause that is to be answered is not there.
        restore: bool,
    },
}

/// What is to be done for the attempt of this mark.
pub(crate) fn next(record: Option<&TaskRecord>, mark: &StepMark) -> Next {
    let status = record.map(|record| record.status);
    // Of a task that is active it is an earlier one, which the status tells.
    let report = record.and_then(|record| record.report.as_ref());
    let made_for = report.and_then(|report| StepMark::of(&report.metadata));
    let is_end = matches!(status, Some(TaskStatus::Completed | TaskStatus::InputRequired));
    if let Some(report) = report
        && is_end
        && made_for.as_ref() == Some(mark)
    {
        return Next::Take(Arc::clone(report));
    }
    let paused = status == Some(TaskStatus::InputRequired);
    let asking = mark.asking();
    let is_asked = paused && asking.is_some() && made_for == asking;
    Next::Attempt { withdraw: paused && !is_asked, restore: asking.is_some() && !is_asked }
}
