//! Facts: what a reader derived from the evidence, and where it stands.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::verdict::Verdict;

/// A line of a file of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    /// The file, relative to the evidence directory, with `/` between folders.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
}

/// One statement that a reader derived from the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// The fact's name, unique among a specialist's facts.
    pub id: String,
    /// The statement. A quote of this fact is byte-exact this text.
    pub text: String,
    /// The numbers behind the statement, for programs.
    pub value: Value,
    /// Where it stands; at most [`Fact::MAX_LISTED`] lines besides one line per file.
    pub sources: Vec<SourceLine>,
}

/// What one specialist may see: its own facts and nothing else of the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopedFacts {
    pub(crate) agent: String,
    pub(crate) release: String,
    pub(crate) verdict: Verdict,
    pub(crate) facts: Vec<Fact>,
}

/// The facts of every specialist, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Facts {
    pub(crate) scopes: Vec<ScopedFacts>,
}

impl SourceLine {
    pub(crate) fn new(file: &str, line: u64) -> Self {
        Self { file: file.to_owned(), line }
    }
}

impl Fact {
    /// The most failing tests or open defects that a fact lists by name; its numbers count all of them.
    pub const MAX_LISTED: usize = 50;
}

impl ScopedFacts {
    /// The specialist.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The release under review.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What the facts give by the specialist's rule.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The facts, in their order.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }
}

impl Facts {
    /// The facts of one specialist.
    pub fn scope(&self, agent: &str) -> Option<&ScopedFacts> {
        self.scopes.iter().find(|scope| scope.agent == agent)
    }

    /// Every specialist's facts, in the order of the plan.
    pub fn iter(&self) -> std::slice::Iter<'_, ScopedFacts> {
        self.scopes.iter()
    }

    /// The specialists, in the order of the plan.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(ScopedFacts::agent)
    }
}

impl<'a> IntoIterator for &'a Facts {
    type Item = &'a ScopedFacts;
    type IntoIter = std::slice::Iter<'a, ScopedFacts>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
