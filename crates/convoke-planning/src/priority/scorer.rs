//! Who says what a step is worth.

use convoke_core::StepId;

use crate::{Plan, PlanStep, PriorityWeights};

/// Says what a step is worth, apart from its deadline. [`PriorityWeights`] is the usual one; a function of plan and step
/// is one too.
///
/// # Contract
///
/// It is asked once when a step becomes ready, and again after a revision of the plan. The higher is first. The answer
/// is a number from −2⁴⁶ to 2⁴⁶; answers that differ by less than 2⁻³⁶ are the same. It must not block.
///
/// # Errors
///
/// Any other answer, such as NaN, is a [`ScoreError`] that names the step.
///
/// # Panics
///
/// A panic reaches whoever queued the step; the queue is as before.
pub trait PriorityScorer: Send + Sync + 'static {
    /// The score of a step without its deadline term.
    fn base(&self, plan: &Plan, step: &PlanStep) -> f64;
}

impl PriorityScorer for PriorityWeights {
    fn base(&self, _: &Plan, step: &PlanStep) -> f64 {
        Self::base(self, &step.signals)
    }
}

impl<F> PriorityScorer for F
where
    F: Fn(&Plan, &PlanStep) -> f64 + Send + Sync + 'static,
{
    fn base(&self, plan: &Plan, step: &PlanStep) -> f64 {
        self(plan, step)
    }
}

/// A score that orders nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("score of step `{step}` is {score}; give a number from -2^46 to 2^46")]
pub struct ScoreError {
    step: StepId,
    score: f64,
}

impl ScoreError {
    pub(super) fn new(step: StepId, score: f64) -> Self {
        Self { step, score }
    }

    /// The step.
    pub fn step(&self) -> &StepId {
        &self.step
    }

    /// Its score.
    pub fn score(&self) -> f64 {
        self.score
    }
}
