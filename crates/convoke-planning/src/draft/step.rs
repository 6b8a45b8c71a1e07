//! A step before it is checked.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use convoke_core::{Metadata, StepId};

use crate::{Dependency, PlanStep, PrioritySignals, StepStatus};

/// A step as a person or a model writes it: ids are any texts, and whatever is left out is empty.
///
/// ```
/// use convoke_planning::StepDraft;
///
/// let step = StepDraft::new("verdict")
///     .titled("Weigh the evidence")
///     .after("tests")
///     .after_end_of("rollback")
///     .by_agent("editor")
///     .gated();
/// assert_eq!(step.depends_on.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct StepDraft {
    /// Its name within the plan; empty where it has none yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// A line for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What is to be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The steps that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency<String>>,
    /// The steps whose output it gets, and that it therefore waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_from: Vec<String>,
    /// The tool that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The agent that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Who does it must declare all of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_skills: Vec<String>,
    /// Whether somebody must approve it before it starts.
    #[serde(skip_serializing_if = "is_false")]
    pub requires_approval: bool,
    /// Its input as text. For a tool: a JSON object, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// Its input as JSON. For a tool: an object.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub data: Option<Value>,
    /// What the writer attaches.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Metadata,
    /// What speaks for doing it before others.
    #[serde(skip_serializing_if = "PrioritySignals::is_empty")]
    pub signals: PrioritySignals,
    /// Where the writer says that it stands. A plan starts with every step pending: any other status is refused, and
    /// [`PlanNormalizer`](crate::PlanNormalizer) takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StepStatus>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// `null` is a value like any other: what is read is what was written.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl StepDraft {
    /// A step with an id and nothing else.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Sets the line for people.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Says what is to be done.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Waits until `step` is completed.
    #[must_use]
    pub fn after(mut self, step: impl Into<String>) -> Self {
        self.depends_on.push(Dependency::completed(step.into()));
        self
    }

    /// Waits until `step` has ended, in whatever terminal status, and takes as input what came of it: its output, or its status
    /// and null.
    #[must_use]
    pub fn after_end_of(mut self, step: impl Into<String>) -> Self {
        self.depends_on.push(Dependency::ended(step.into()));
        self
    }

    /// Takes the output of `step` as input, and so waits for it: until it is completed, or where
    /// [`after_end_of`](Self::after_end_of) names it too, until it has ended.
    #[must_use]
    pub fn input_from(mut self, step: impl Into<String>) -> Self {
        self.input_from.push(step.into());
        self
    }

    /// Names the tool that does it.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Names the agent that does it.
    #[must_use]
    pub fn by_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Requires a skill of whoever does it.
    #[must_use]
    pub fn requiring(mut self, skill: impl Into<String>) -> Self {
        self.required_skills.push(skill.into());
        self
    }

    /// Lets it start only when somebody has approved it.
    #[must_use]
    pub fn gated(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    /// Sets the input as text.
    #[must_use]
    pub fn with_input(mut self, input: impl Into<String>) -> Self {
        self.input = input.into();
        self
    }

    /// Sets the input as JSON.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// Attaches a value.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets what speaks for doing it before others.
    #[must_use]
    pub fn with_signals(mut self, signals: PrioritySignals) -> Self {
        self.signals = signals;
        self
    }
}

/// A draft that, checked again, gives the same step.
impl From<&PlanStep> for StepDraft {
    fn from(step: &PlanStep) -> Self {
        let text = |id: &StepId| id.as_str().to_owned();
        Self {
            id: text(&step.id),
            title: step.title.clone(),
            description: step.description.clone(),
            depends_on: step
                .depends_on
                .iter()
                .map(|dependency| Dependency { step: text(&dependency.step), wait: dependency.wait })
                .collect(),
            input_from: step.input_from.iter().map(text).collect(),
            tool: step.tool.as_deref().map(str::to_owned),
            agent: step.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            required_skills: step.required_skills.iter().map(|skill| skill.as_str().to_owned()).collect(),
            requires_approval: step.requires_approval,
            input: step.input.clone(),
            data: step.data.clone(),
            metadata: step.metadata.clone(),
            signals: step.signals,
            status: None,
        }
    }
}
