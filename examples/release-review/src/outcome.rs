//! How a review went: what the driver knows at its end, before anything of it is believed.

use serde::Serialize;

use crate::{result::ResultId, synthesis::Synthesis, text::one_line};

/// How a review went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Who answered: `offline` for the deterministic readers.
    pub provider: String,
    /// One entry for each specialist, in any order.
    pub entries: Vec<Entry>,
    /// The synthesis.
    pub synthesis: SynthesisEntry,
    /// Why work was not begun or not awaited, besides failures.
    pub stopped: Vec<Stop>,
}

/// How one specialist's work went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The specialist.
    pub agent: String,
    /// How it ended.
    pub status: EntryStatus,
    /// How often it was asked.
    pub attempts: u32,
    /// What went wrong, for each attempt that did.
    pub errors: Vec<AttemptError>,
    /// The saved result of a completed entry.
    pub result: Option<ResultId>,
}

/// How the synthesis went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SynthesisEntry {
    /// How often it was asked.
    pub attempts: u32,
    /// What went wrong, for each attempt that did.
    pub errors: Vec<AttemptError>,
    /// The synthesis, if one passed its gate.
    pub synthesis: Option<Synthesis>,
}

/// Why one attempt gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptError {
    attempt: u32,
    code: String,
    message: String,
}

/// How a specialist's work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryStatus {
    /// With a verified result.
    Completed,
    /// Without a result, after at least one attempt.
    Failed,
    /// Not begun, because a prerequisite has no result.
    Blocked,
    /// Not begun, because the review was stopped.
    Skipped,
}

/// Why a review was stopped from outside of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The deadline passed.
    Deadline,
    /// Somebody interrupted it.
    Interrupted,
}

/// Why a review is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// A specialist gave no result.
    AgentFailed,
    /// A specialist could not begin, because a prerequisite has no result.
    DependencyFailed,
    /// No synthesis passed its gate.
    InvalidSynthesis,
    /// The deadline passed.
    Deadline,
    /// Somebody interrupted it.
    Interrupted,
}

impl Outcome {
    /// Every reason why the review is not complete, each once: those of the entries first, in their order.
    pub fn stop_reasons(&self) -> Vec<StopReason> {
        let of_entries = self.entries.iter().filter_map(|entry| match entry.status {
            EntryStatus::Failed => Some(StopReason::AgentFailed),
            EntryStatus::Blocked => Some(StopReason::DependencyFailed),
            EntryStatus::Completed | EntryStatus::Skipped => None,
        });
        let of_synthesis = (self.synthesis.synthesis.is_none() && !self.synthesis.errors.is_empty())
            .then_some(StopReason::InvalidSynthesis);
        let from_outside = self.stopped.iter().map(|stop| match stop {
            Stop::Deadline => StopReason::Deadline,
            Stop::Interrupted => StopReason::Interrupted,
        });
        let mut reasons = Vec::new();
        for reason in of_entries.chain(of_synthesis).chain(from_outside) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}

impl Entry {
    /// An entry with a saved result, after a number of attempts.
    pub fn completed(
        agent: impl Into<String>,
        result: ResultId,
        attempts: u32,
        errors: Vec<AttemptError>,
    ) -> Self {
        Self { agent: agent.into(), status: EntryStatus::Completed, attempts, errors, result: Some(result) }
    }

    /// An entry without a result, after as many attempts as there are errors.
    pub fn failed(agent: impl Into<String>, errors: Vec<AttemptError>) -> Self {
        let attempts = u32::try_from(errors.len()).unwrap_or(u32::MAX);
        Self { agent: agent.into(), status: EntryStatus::Failed, attempts, errors, result: None }
    }

    /// An entry that was not begun, because a prerequisite has no result.
    pub fn blocked(agent: impl Into<String>) -> Self {
        Self::not_begun(agent.into(), EntryStatus::Blocked)
    }

    /// An entry that was not begun, because the review was stopped.
    pub fn skipped(agent: impl Into<String>) -> Self {
        Self::not_begun(agent.into(), EntryStatus::Skipped)
    }

    fn not_begun(agent: String, status: EntryStatus) -> Self {
        Self { agent, status, attempts: 0, errors: Vec::new(), result: None }
    }
}

impl AttemptError {
    /// What went wrong in an attempt, counted from 1: a stable word for it, and a message of one line.
    ///
    /// Both are published; what an agent said belongs in neither. [`GateError::expectation`] is fit for it.
    ///
    /// [`GateError::expectation`]: crate::gates::GateError::expectation
    pub fn new(attempt: u32, code: impl Into<String>, message: &str) -> Self {
        Self { attempt, code: one_line(&code.into(), 64), message: one_line(message, 500) }
    }

    /// The attempt, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// A stable word for what went wrong.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What went wrong, for a person.
    pub fn message(&self) -> &str {
        &self.message
    }
}
