//! What a person or a model writes: a plan before anything of it is checked.

mod step;

pub use step::StepDraft;

use convoke_core::{Artifact, Metadata};

/// A plan as a person or a model writes it: nothing is checked, and any part may be missing or wrong.
///
/// A [`PlanValidator`](crate::PlanValidator) makes a [`Plan`](crate::Plan) of it or says everything that is wrong; a
/// [`PlanNormalizer`](crate::PlanNormalizer) repairs what can be repaired without a change of meaning.
///
/// ```
/// use convoke_planning::{PlanDraft, StepDraft};
///
/// let draft = PlanDraft::new("say whether the release can go out")
///     .with_step(StepDraft::new("inspect").titled("Read the test report"))
///     .with_step(StepDraft::new("summarize").titled("Write the summary").after("inspect"));
/// assert_eq!(draft.steps.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PlanDraft {
    /// The plan's id; random (UUID version 4) where it is left out.
    pub id: Option<String>,
    /// What the plan is for.
    pub goal: String,
    /// The steps, in the order that decides where nothing else does.
    pub steps: Vec<StepDraft>,
    /// What the plan starts with.
    pub artifacts: Vec<Artifact>,
    /// What the writer attaches.
    pub metadata: Metadata,
}

impl PlanDraft {
    /// A plan for a goal, without steps.
    pub fn new(goal: impl Into<String>) -> Self {
        Self { goal: goal.into(), ..Self::default() }
    }

    /// Names the plan. A plan without a name gets a random one, another each time that it is made of the draft: give a plan a
    /// name that is to be found again in a journal.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Adds a step behind the others.
    #[must_use]
    pub fn with_step(mut self, step: StepDraft) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds steps behind the others.
    #[must_use]
    pub fn with_steps(mut self, steps: impl IntoIterator<Item = StepDraft>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds something that the plan starts with.
    #[must_use]
    pub fn with_artifact(mut self, artifact: Artifact) -> Self {
        self.artifacts.push(artifact);
        self
    }

    /// Attaches a value.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}
