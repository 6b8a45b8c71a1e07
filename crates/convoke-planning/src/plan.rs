//! A plan: what a draft becomes when nothing is wrong with it.

use std::{collections::HashMap, fmt, sync::Arc};

use convoke_core::{Artifact, Metadata, PlanId, StepId};

use crate::{Diagram, Edge, PlanDraft, PlanStep, StepDraft, StepIndex, graph::Graph};

/// A checked plan: its steps, and the graph of who waits for whom.
///
/// It exists only valid: ids are unique, every edge has two ends, and no step waits for itself by whatever way. It says
/// what is to be done and nothing of how far that is; a run keeps a table by [`StepIndex`]. Cloning it copies a pointer,
/// and nothing that is done with it takes stack with its size.
///
/// ```
/// use convoke_planning::{PlanDraft, PlanValidator, StepDraft};
///
/// # fn main() -> Result<(), convoke_planning::InvalidPlan> {
/// let draft = PlanDraft::new("publish")
///     .with_step(StepDraft::new("draft").titled("Write"))
///     .with_step(StepDraft::new("check").titled("Read again").input_from("draft"));
/// let plan = PlanValidator::default().validate(draft)?;
///
/// let first = plan.index_of("draft").unwrap();
/// let waiting: Vec<_> = plan.dependents(first).map(|edge| plan.step(edge.step).unwrap().id.as_str()).collect();
/// assert_eq!(waiting, ["check"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Plan {
    content: Arc<Content>,
}

pub(crate) struct Content {
    pub(crate) id: PlanId,
    pub(crate) goal: String,
    pub(crate) revision: u64,
    pub(crate) steps: Vec<PlanStep>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) metadata: Metadata,
    pub(crate) positions: HashMap<StepId, StepIndex>,
    pub(crate) graph: Graph,
}

impl Plan {
    pub(crate) fn new(content: Content) -> Self {
        Self { content: Arc::new(content) }
    }

    /// The same under another id, as a plan of its own that was never revised.
    pub(crate) fn renamed(&self, id: PlanId) -> Self {
        let Content { id: _, goal, revision: _, steps, artifacts, metadata, positions, graph } =
            &*self.content;
        Self::new(Content {
            id,
            goal: goal.clone(),
            revision: 0,
            steps: steps.clone(),
            artifacts: artifacts.clone(),
            metadata: metadata.clone(),
            positions: positions.clone(),
            graph: graph.clone(),
        })
    }

    /// The plan's id, the same in all its revisions.
    pub fn id(&self) -> &PlanId {
        &self.content.id
    }

    /// What the plan is for.
    pub fn goal(&self) -> &str {
        &self.content.goal
    }

    /// How often it was revised; 0 at first.
    pub fn revision(&self) -> u64 {
        self.content.revision
    }

    /// The steps, in plan order; at least one.
    pub fn steps(&self) -> &[PlanStep] {
        &self.content.steps
    }

    /// The step at a place; `None` where this revision has no such place.
    pub fn step(&self, index: StepIndex) -> Option<&PlanStep> {
        self.content.steps.get(index.row())
    }

    /// The step at a place of this revision. Of another one, the first step stands for what cannot be.
    pub(crate) fn own_step(&self, index: StepIndex) -> &PlanStep {
        let found = self.step(index).or_else(|| self.steps().first());
        found.unwrap_or_else(|| unreachable!("a valid plan has a step"))
    }

    /// The place of a step; `None` where the plan has no step of that id.
    pub fn index_of(&self, step: impl AsRef<str>) -> Option<StepIndex> {
        self.content.positions.get(step.as_ref()).copied()
    }

    /// All places, in plan order.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = StepIndex> + DoubleEndedIterator + use<> {
        (0..self.size()).map(StepIndex::new)
    }

    /// The steps that wait for `step` itself, each once, in plan order.
    pub fn dependents(&self, step: StepIndex) -> impl Iterator<Item = Edge> + '_ {
        self.content.graph.dependents(step)
    }

    /// The steps that `step` itself waits for, each once, in the order in which it names them. One that is named twice has
    /// the stricter wait; one that is named as a source of input alone is waited for until completed.
    pub fn dependencies(&self, step: StepIndex) -> impl Iterator<Item = Edge> + '_ {
        self.content.graph.dependencies(step)
    }

    /// For how many steps each step waits, in plan order.
    pub fn in_degrees(&self) -> &[u32] {
        self.content.graph.in_degrees()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.content.graph.edge_count()
    }

    /// The steps that nothing waits for, in plan order: what they give is what the plan gives.
    pub fn sinks(&self) -> impl Iterator<Item = StepIndex> + '_ {
        self.indices().filter(|step| self.dependents(*step).next().is_none())
    }

    /// What the plan starts with.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.content.artifacts
    }

    /// What the writer attached.
    pub fn metadata(&self) -> &Metadata {
        &self.content.metadata
    }

    /// A draft of the same plan, to change and check again.
    pub fn to_draft(&self) -> PlanDraft {
        PlanDraft {
            id: Some(self.id().as_str().to_owned()),
            goal: self.goal().to_owned(),
            steps: self.steps().iter().map(StepDraft::from).collect(),
            artifacts: self.artifacts().to_vec(),
            metadata: self.metadata().clone(),
        }
    }

    /// A picture of the plan, to colour by status.
    pub fn diagram(&self) -> Diagram<'_> {
        Diagram::new(self)
    }

    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        self.diagram().to_mermaid()
    }

    /// The picture in the DOT language of Graphviz.
    pub fn to_dot(&self) -> String {
        self.diagram().to_dot()
    }

    fn size(&self) -> u32 {
        // The validator lets no plan have more.
        u32::try_from(self.content.steps.len()).unwrap_or(u32::MAX)
    }
}

/// Equal in all that was written; the graph follows from that.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.content, &other.content);
        Arc::ptr_eq(a, b)
            || (a.id == b.id
                && a.goal == b.goal
                && a.revision == b.revision
                && a.steps == b.steps
                && a.artifacts == b.artifacts
                && a.metadata == b.metadata)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("id", self.id())
            .field("goal", &self.goal())
            .field("revision", &self.revision())
            .field("steps", &self.steps())
            .finish_non_exhaustive()
    }
}
