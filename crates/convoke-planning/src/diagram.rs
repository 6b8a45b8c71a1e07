//! Pictures of a plan, as text for programs that draw.

mod dot;
mod mermaid;

use std::fmt;

use crate::{Plan, StepIndex, StepStatus};

/// A picture of a plan: a box for each step with its title, a six-sided one where somebody must approve; an arrow for each
/// edge, dashed where it waits for any end. With statuses, boxes have colours and say the status.
///
/// No text of the plan can be read as anything but text.
///
/// ```
/// use convoke_planning::{PlanDraft, PlanValidator, StepDraft, StepStatus};
///
/// # fn main() -> Result<(), convoke_planning::InvalidPlan> {
/// let draft = PlanDraft::new("publish")
///     .with_step(StepDraft::new("write").titled("Write \"it\""))
///     .with_step(StepDraft::new("check").titled("Check").after_end_of("write").gated());
/// let plan = PlanValidator::default().validate(draft)?;
///
/// assert_eq!(
///     plan.to_mermaid(),
///     "flowchart TD\n    s0[\"Write #34;it#34;\"]\n    s1{{\"Check\"}}\n    s0 -.-> s1\n"
/// );
/// let done = |step| if plan.index_of("write") == Some(step) { StepStatus::Completed } else { StepStatus::Pending };
/// assert!(plan.diagram().with_statuses(done).to_mermaid().contains("class s0 completed\n"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a picture is nothing until it is drawn"]
pub struct Diagram<'p> {
    plan: &'p Plan,
    status: Option<Box<dyn Fn(StepIndex) -> StepStatus + 'p>>,
    note: Option<Box<dyn Fn(StepIndex) -> String + 'p>>,
}

impl<'p> Diagram<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        Self { plan, status: None, note: None }
    }

    /// Colours each step by where it stands.
    pub fn with_statuses(mut self, status: impl Fn(StepIndex) -> StepStatus + 'p) -> Self {
        self.status = Some(Box::new(status));
        self
    }

    /// Says something more of each step, behind its status; nothing where the text is empty.
    pub fn with_notes(mut self, note: impl Fn(StepIndex) -> String + 'p) -> Self {
        self.note = Some(Box::new(note));
        self
    }

    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = mermaid::write(&mut text, self);
        text
    }

    /// The picture in the DOT language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut text = String::new();
        let _ = dot::write(&mut text, self);
        text
    }

    fn status(&self, step: StepIndex) -> Option<StepStatus> {
        self.status.as_ref().map(|status| status(step))
    }

    /// What stands behind the title, as text that is not escaped yet.
    fn note(&self, step: StepIndex) -> Option<String> {
        self.note.as_ref().map(|note| note(step)).filter(|note| !note.is_empty())
    }
}

impl fmt::Debug for Diagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagram").field("plan", self.plan.id()).finish_non_exhaustive()
    }
}

/// The colour of a box, light enough for black text.
fn colour(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Pending => "#ffffff",
        StepStatus::Running => "#cfe2ff",
        StepStatus::Completed => "#d1e7dd",
        StepStatus::Failed => "#f8d7da",
        StepStatus::Skipped => "#e2e3e5",
        StepStatus::Blocked => "#fff3cd",
    }
}
