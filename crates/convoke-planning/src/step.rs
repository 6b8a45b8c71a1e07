//! A step of a plan: what it is, apart from where it stands.

use std::sync::Arc;

use serde_json::Value;

use convoke_core::{AgentId, Metadata, SkillId, StepId};

use crate::{Dependency, PrioritySignals};

/// A step of a checked plan: what is to be done, after what, and by whom.
///
/// It says nothing of how far the step is: that belongs to a run, by [`StepIndex`](crate::StepIndex). One is made by
/// checking a [`StepDraft`](crate::StepDraft); ids are shared, so that naming a step again copies a pointer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanStep {
    /// Its name within the plan.
    pub id: StepId,
    /// A line for people; may be empty, see [`label`](Self::label).
    pub title: String,
    /// What is to be done, for people and models; may be empty.
    pub description: String,
    /// The steps that it waits for, as written.
    pub depends_on: Vec<Dependency>,
    /// The steps whose output it gets. Each is waited for, until completed unless `depends_on` says otherwise.
    pub input_from: Vec<StepId>,
    /// The tool that does it.
    pub tool: Option<Arc<str>>,
    /// The agent that does it.
    pub agent: Option<AgentId>,
    /// Who does it must declare all of these.
    pub required_skills: Vec<SkillId>,
    /// Whether somebody must approve it before it starts.
    pub requires_approval: bool,
    /// Its input as text; filled from `input_from` at run time where it is empty.
    pub input: String,
    /// Its input as JSON.
    pub data: Option<Value>,
    /// What the writer attaches; the SDK carries it and never reads it.
    pub metadata: Metadata,
    /// What speaks for doing it before others.
    pub signals: PrioritySignals,
}

impl PlanStep {
    /// The title, or where there is none the id.
    pub fn label(&self) -> &str {
        if self.title.is_empty() { self.id.as_str() } else { &self.title }
    }
}
