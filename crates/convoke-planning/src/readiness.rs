//! Which steps are ready, kept as steps change.

use convoke_core::{PlanId, StepId};

use crate::{Plan, StepIndex, StepStatus, Wait};

/// Why a step does not go where it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// A step in this status [does not go there](StepStatus::can_become).
    #[error("step `{step}` is {from} and cannot become {to}")]
    Forbidden {
        /// The step.
        step: StepId,
        /// Where it stands.
        from: StepStatus,
        /// Where it was sent.
        to: StepStatus,
    },
    /// The plan has no step at that place.
    #[error("plan `{plan}` has no step at place {}; take places from the plan at hand", step.get())]
    UnknownStep {
        /// The plan.
        plan: PlanId,
        /// The place.
        step: StepIndex,
    },
}

/// Where each step of a plan stands, and which are ready: pending, with every edge satisfied.
///
/// A change takes time with the edges that leave the step, whatever it is; a look takes none. It belongs to one revision
/// of one plan: with another, the answers mean nothing.
///
/// ```
/// use convoke_planning::{PlanDraft, PlanValidator, Readiness, StepDraft, StepStatus};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let draft = PlanDraft::new("publish")
///     .with_step(StepDraft::new("write").titled("Write"))
///     .with_step(StepDraft::new("check").titled("Check").after("write"));
/// let plan = PlanValidator::default().validate(draft)?;
///
/// let mut readiness = Readiness::new(&plan);
/// let write = plan.index_of("write").unwrap();
/// assert_eq!(plan.indices().filter(|step| readiness.is_ready(*step)).collect::<Vec<_>>(), [write]);
///
/// readiness.set(&plan, write, StepStatus::Running)?;
/// readiness.set(&plan, write, StepStatus::Completed)?;
/// let woken: Vec<_> = plan.dependents(write).map(|edge| edge.step).filter(|step| readiness.is_ready(*step)).collect();
/// assert_eq!(woken, [plan.index_of("check").unwrap()]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Readiness {
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    status: StepStatus,
    /// How many edges into the step are not satisfied.
    open: u32,
    /// How many of those cannot be as things stand: they wait for the completion of a step that ended otherwise.
    barred: u32,
}

impl Readiness {
    /// All steps pending.
    pub fn new(plan: &Plan) -> Self {
        let row = |open: &u32| Row { status: StepStatus::Pending, open: *open, barred: 0 };
        Self { rows: plan.in_degrees().iter().map(row).collect() }
    }

    /// Where a step stands; `None` where the plan has no such place.
    pub fn status(&self, step: StepIndex) -> Option<StepStatus> {
        self.rows.get(step.row()).map(|row| row.status)
    }

    /// Whether a step is pending and waits for nothing any more.
    pub fn is_ready(&self, step: StepIndex) -> bool {
        self.rows.get(step.row()).is_some_and(|row| row.status == StepStatus::Pending && row.open == 0)
    }

    /// Whether a step waits for the completion of a step that ended otherwise, so that it cannot start unless that one is
    /// tried again.
    pub fn is_barred(&self, step: StepIndex) -> bool {
        self.rows.get(step.row()).is_some_and(|row| row.status == StepStatus::Pending && row.barred > 0)
    }

    /// Notes that a step stands elsewhere now. What that woke or barred is among its
    /// [dependents](Plan::dependents): each is asked there.
    ///
    /// # Errors
    ///
    /// [`TransitionError`] where the step may not go there, or is not there at all; nothing changes then.
    pub fn set(&mut self, plan: &Plan, step: StepIndex, to: StepStatus) -> Result<(), TransitionError> {
        let (Some(row), Some(definition)) = (self.rows.get_mut(step.row()), plan.step(step)) else {
            return Err(TransitionError::UnknownStep { plan: plan.id().clone(), step });
        };
        let from = row.status;
        if !from.can_become(to) {
            return Err(TransitionError::Forbidden { step: definition.id.clone(), from, to });
        }
        row.status = to;
        if !from.is_terminal() && !to.is_terminal() {
            return Ok(());
        }
        for edge in plan.dependents(step) {
            let Some(row) = self.rows.get_mut(edge.step.row()) else { continue };
            row.open = moved(row.open, !satisfies(from, edge.wait), !satisfies(to, edge.wait));
            row.barred = moved(row.barred, bars(from, edge.wait), bars(to, edge.wait));
        }
        Ok(())
    }
}

fn satisfies(status: StepStatus, wait: Wait) -> bool {
    match wait {
        Wait::Completed => status == StepStatus::Completed,
        Wait::Ended => status.is_terminal(),
    }
}

fn bars(status: StepStatus, wait: Wait) -> bool {
    status.is_terminal() && !satisfies(status, wait)
}

/// A count of edges, after one of them was counted or not and is or is not.
fn moved(count: u32, was: bool, is: bool) -> u32 {
    count.saturating_add(u32::from(is)).saturating_sub(u32::from(was))
}
