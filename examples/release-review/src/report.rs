//! The report of a review, as `report.json` has it. It holds no times: equal inputs give equal bytes.

mod escape;
mod markdown;

use serde::Serialize;

pub use self::escape::escape;
use crate::{
    digest::Digest,
    evidence::{SourceEntry, Warning},
    fact::ScopedFacts,
    finding::Citation,
    mode::Mode,
    outcome::{AttemptError, EntryStatus, StopReason},
    result::ResultId,
    synthesis::Synthesis,
    verdict::{Readiness, Verdict},
};

/// The report of a review. Only publication makes one, out of what it has verified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub(crate) format: u32,
    pub(crate) task: String,
    pub(crate) request: Digest,
    pub(crate) release: String,
    pub(crate) goal: String,
    pub(crate) mode: Mode,
    pub(crate) provider: String,
    pub(crate) status: ReportStatus,
    pub(crate) readiness: Option<Readiness>,
    pub(crate) stop_reasons: Vec<StopReason>,
    pub(crate) specialists: Vec<SpecialistReport>,
    pub(crate) synthesis: SynthesisReport,
    pub(crate) sources: SourcesReport,
    pub(crate) facts: Vec<ScopedFacts>,
    pub(crate) warnings: Vec<Warning>,
}

/// Whether everything that was asked is in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportStatus {
    /// Every specialist's result and the synthesis.
    Completed,
    /// Not everything; the stop reasons say why.
    Partial,
}

/// What became of one specialist's work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SpecialistReport {
    pub(crate) agent: String,
    pub(crate) status: EntryStatus,
    pub(crate) attempts: u32,
    pub(crate) errors: Vec<AttemptError>,
    pub(crate) result: Option<ResultId>,
    pub(crate) depends_on: Vec<ResultId>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) summary: Option<String>,
    pub(crate) citations: Vec<Citation>,
}

/// What became of the synthesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SynthesisReport {
    pub(crate) attempts: u32,
    pub(crate) errors: Vec<AttemptError>,
    pub(crate) answer: Option<Synthesis>,
}

/// The sources, as they were copied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SourcesReport {
    pub(crate) digest: Digest,
    pub(crate) files: Vec<SourceEntry>,
}

impl Report {
    /// The version that this program writes.
    pub const FORMAT: u32 = 1;

    /// The release under review.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Whether everything that was asked is in the report.
    pub fn status(&self) -> ReportStatus {
        self.status
    }

    /// What the results give together; none if there is no synthesis.
    pub fn readiness(&self) -> Option<Readiness> {
        self.readiness
    }

    /// Why the review is not complete; empty if it is.
    pub fn stop_reasons(&self) -> &[StopReason] {
        &self.stop_reasons
    }

    /// The report for programs.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The report for people, as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }
}
