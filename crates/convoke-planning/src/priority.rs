//! Which of the ready steps is first.

mod fixed;
mod queue;
mod scorer;
mod weights;

pub use queue::ReadyQueue;
pub use scorer::{PriorityScorer, ScoreError};
pub use weights::PriorityWeights;

/// How ready steps are ordered.
#[derive(Clone, Debug, PartialEq)]
pub enum Prioritization {
    /// In plan order.
    PlanOrder,
    /// By score, then the earlier deadline (one beats none), then plan order.
    ByScore(PriorityWeights),
}

/// By score, with the default weights: without signals, that is plan order.
impl Default for Prioritization {
    fn default() -> Self {
        Self::ByScore(PriorityWeights::default())
    }
}

impl From<PriorityWeights> for Prioritization {
    fn from(weights: PriorityWeights) -> Self {
        Self::ByScore(weights)
    }
}
