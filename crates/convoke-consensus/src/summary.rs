//! What a verdict rests on, or why there is none: as fields, and in one line.

use std::{collections::BTreeSet, fmt, sync::Arc};

use convoke_core::{AgentId, ErrorCode, Metadata, TaskReport, TaskStatus};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The field of the output's metadata that has the summary.
pub(crate) const KEY: &str = "consensus";

/// Where a round leaves its summary for the caller.
pub(crate) type Told = Arc<Mutex<Option<ConsensusSummary>>>;

/// How many names a line lists of each kind.
const NAMED: usize = 5;

/// What a verdict rests on, or why there is none.
///
/// Each participant is in exactly one of `succeeded`, `failed`, `paused` and `signalled`. As a text it is one line without
/// anything that was answered: `5 eligible, 5 asked, 3 succeeded, 2 failed (`d` timed_out, `e` agent_not_found); 2 votes required;
/// votes 2 (`a`, `b`), 1 (`c`)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConsensusSummary {
    /// Which call of the consensus this was, from 1.
    pub round: u32,
    /// How many agents take part, frozen before the first was asked.
    pub eligible: usize,
    /// How many of them began to work on it: the others were refused, or waited in line to the end.
    pub asked: usize,
    /// How many completed, with or without a vote.
    pub succeeded: usize,
    /// How many had to complete.
    pub minimum_successful_agents: usize,
    /// The votes that an answer needed, in weight, whatever those that are not in would have said; `None` where nothing is
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<u64>,
    /// Each answer with its votes, the weightiest first; empty where nothing is counted. The answers are whole, here and in
    /// the record of the task: where they are long, count a field.
    pub votes: Vec<VoteCount>,
    /// Who completed without a vote in the output.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub spoilt: BTreeSet<AgentId>,
    /// Who did not complete, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedParticipant>,
    /// Who asked for input, which is no success.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub paused: BTreeSet<AgentId>,
    /// Who had not ended when it was decided, or was stopped by the deadline. Their records may follow the verdict; who does
    /// not stop keeps its place until it ends.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub signalled: BTreeSet<AgentId>,
    /// On whose answers the verdict rests.
    pub voters: BTreeSet<AgentId>,
    /// What the resolver noted: points, scores, the seed of a judge.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub notes: Metadata,
}

/// An answer and its votes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VoteCount {
    /// The answer's text.
    pub text: String,
    /// The answer's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Who voted for it.
    pub voters: BTreeSet<AgentId>,
    /// What they weigh together.
    pub weight: u64,
}

/// A participant that did not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedParticipant {
    /// Who.
    pub agent: AgentId,
    /// How it ended.
    pub status: TaskStatus,
    /// Why.
    pub code: Option<ErrorCode>,
    /// The same for a person: what every observer may read. Of a wait that could never end it is the path.
    #[serde(default)]
    pub text: Option<String>,
}

impl ConsensusSummary {
    /// The summary in the report of a consensus; `None` where that ended before its participants were asked.
    pub fn of(report: &TaskReport) -> Option<Self> {
        let summary = report.output.as_ref()?.metadata.get(KEY)?;
        Self::deserialize(summary).ok()
    }
}

impl fmt::Display for ConsensusSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} eligible, {} asked, {} succeeded, {} failed",
            self.eligible,
            self.asked,
            self.succeeded,
            self.failed.len()
        )?;
        let failed = |failed: &FailedParticipant| {
            let why = failed.code.map_or(failed.status.as_str(), ErrorCode::as_str);
            format!("`{}` {why}", failed.agent)
        };
        list(f, self.failed.iter().map(failed))?;
        for (agents, what) in
            [(&self.paused, "paused"), (&self.signalled, "signalled"), (&self.spoilt, "without a vote")]
        {
            if !agents.is_empty() {
                write!(f, ", {} {what}", agents.len())?;
                list(f, agents.iter().map(|agent| format!("`{agent}`")))?;
            }
        }
        if self.succeeded < self.minimum_successful_agents {
            write!(f, "; {} must succeed", self.minimum_successful_agents)?;
        }
        let Some(required) = self.required else {
            if !self.voters.is_empty() {
                write!(f, "; rests on {}", self.voters.len())?;
            }
            return list(f, self.voters.iter().map(|agent| format!("`{agent}`")));
        };
        write!(f, "; {required} {} required; votes ", if required == 1 { "vote" } else { "votes" })?;
        if self.votes.is_empty() {
            return f.write_str("none");
        }
        for (place, votes) in self.votes.iter().take(NAMED).enumerate() {
            f.write_str(if place == 0 { "" } else { ", " })?;
            write!(f, "{}", votes.weight)?;
            list(f, votes.voters.iter().map(|agent| format!("`{agent}`")))?;
        }
        match self.votes.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more answers"),
        }
    }
}

/// ` (a, b and 3 more)`; nothing where there is nothing.
fn list(f: &mut fmt::Formatter<'_>, names: impl ExactSizeIterator<Item = String>) -> fmt::Result {
    let count = names.len();
    if count == 0 {
        return Ok(());
    }
    let shown: Vec<_> = names.take(NAMED).collect();
    write!(f, " ({}", shown.join(", "))?;
    match count.saturating_sub(NAMED) {
        0 => f.write_str(")"),
        more => write!(f, " and {more} more)"),
    }
}
