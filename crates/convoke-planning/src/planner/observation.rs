//! What a planner is told of a plan that does not work.

use std::sync::Arc;

use convoke_core::{StepId, TaskOutput};

use crate::{
    Plan, StepStatus,
    machine::{Machine, StepError},
};

/// What a plan has come to, and the step because of which it is to be revised.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observation {
    /// The step that failed or is blocked.
    pub step: StepId,
    /// Why.
    pub error: Option<Arc<StepError>>,
    /// Why the last draft was not taken; `None` at the first ask.
    pub refused: Option<String>,
    plan: Plan,
    outputs: crate::machine::Outputs,
    statuses: Vec<StepStatus>,
}

impl Observation {
    pub(crate) fn new(machine: &Machine, step: StepId, refused: Option<String>) -> Self {
        let plan = machine.plan().clone();
        let error = plan.index_of(&step).and_then(|step| machine.error(step));
        let statuses = plan.indices().map(|step| machine.status(step)).collect();
        Self { step, error, refused, outputs: machine.outputs().clone(), statuses, plan }
    }

    /// Where a step stands.
    pub fn status(&self, step: impl AsRef<str>) -> Option<StepStatus> {
        let index = self.plan.index_of(step)?;
        self.statuses.get(index.row()).copied()
    }

    /// The output of a completed step.
    pub fn output(&self, step: impl AsRef<str>) -> Option<&Arc<TaskOutput>> {
        self.outputs.get(self.plan.index_of(step)?)
    }
}
