//! What the exit status of the program says.

use std::process::ExitCode;

use crate::{
    report::{Report, ReportStatus},
    verdict::Readiness,
};

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Exit {
    /// The review is completed, and the release is ready.
    Ready = 0,
    /// The review failed.
    Failure = 1,
    /// The request or its evidence cannot be used; nothing was written.
    Unusable = 2,
    /// The review is completed, and the release is blocked.
    Blocked = 3,
    /// The review is partial.
    Partial = 4,
}

impl Exit {
    /// The exit status after a report was published.
    pub fn of(report: &Report) -> Self {
        match (report.status(), report.readiness()) {
            (ReportStatus::Completed, Some(Readiness::Ready)) => Self::Ready,
            (ReportStatus::Completed, Some(Readiness::Blocked)) => Self::Blocked,
            _ => Self::Partial,
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
