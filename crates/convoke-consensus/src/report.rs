//! What a consensus answers.

use std::fmt;

use convoke_core::{ErrorCode, NotCompleted, TaskError, TaskOutput, TaskReport, TaskStatus};

use crate::ConsensusSummary;

/// How a consensus ended: the report of its task, and what that rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConsensusReport {
    /// The report of the task. Where there is a verdict its output is that; otherwise the output has no more than the summary
    /// in its metadata, and is not in the session.
    pub report: TaskReport,
    /// What the verdict rests on, or why there is none; `None` where no participant was asked.
    pub summary: Option<ConsensusSummary>,
}

impl ConsensusReport {
    /// The report of a task that was a consensus, wherever it comes from.
    pub fn of(report: TaskReport) -> Self {
        let summary = ConsensusSummary::of(&report);
        Self { report, summary }
    }

    /// The report of a task, and a summary that is at hand.
    pub(crate) fn with_summary(report: TaskReport, summary: Option<ConsensusSummary>) -> Self {
        match summary {
            Some(summary) => Self { report, summary: Some(summary) },
            None => Self::of(report),
        }
    }

    /// Whether there is a verdict. A task that completed and was no consensus, whose report a record gave, has none.
    pub fn is_success(&self) -> bool {
        self.report.is_success() && self.summary.is_some()
    }

    /// How its task ended.
    pub fn status(&self) -> TaskStatus {
        self.report.status
    }

    /// Why there is no verdict.
    pub fn error(&self) -> Option<&TaskError> {
        self.report.error.as_ref()
    }

    /// Why there is none, for a machine.
    pub fn code(&self) -> Option<ErrorCode> {
        self.report.code()
    }

    /// The text of the verdict; empty where there is none.
    pub fn text(&self) -> &str {
        if self.is_success() { self.report.text() } else { "" }
    }

    /// The verdict.
    ///
    /// # Errors
    ///
    /// [`NotCompleted`], which keeps the report, where there is none.
    pub fn into_result(self) -> Result<TaskOutput, NotCompleted> {
        self.report.into_result()
    }
}

/// How it ended and why in one line, without what was answered.
impl fmt::Display for ConsensusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        let Some(summary) = &self.summary else { return Ok(()) };
        let line = summary.to_string();
        // A consensus that was not reached says it already.
        if self.report.error.as_ref().is_some_and(|error| error.message().contains(&line)) {
            return Ok(());
        }
        write!(f, "; {line}")
    }
}
