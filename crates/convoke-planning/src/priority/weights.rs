//! How much each signal counts.

use std::time::Duration;

use crate::{PolicyError, PrioritySignals, priority::fixed};

/// How much each signal counts, for all steps of a plan.
///
/// The score of a step is priority + urgency + expected value − estimated cost, each times its weight, and its deadline
/// term: nothing while more than the horizon remains, then rising evenly, and the whole deadline weight from the deadline
/// on.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_planning::{PrioritySignals, PriorityWeights};
///
/// # fn main() -> Result<(), convoke_planning::PolicyError> {
/// let weights = PriorityWeights::new().with_deadline(4.0)?.with_horizon(Duration::from_millis(1_000))?;
/// let signals = PrioritySignals::new().with_priority(2.0).with_estimated_cost(0.5).with_deadline(10_000);
/// assert_eq!(weights.score(&signals, 8_000), 1.5);
/// assert_eq!(weights.score(&signals, 9_500), 3.5);
/// assert_eq!(weights.score(&signals, 20_000), 5.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorityWeights {
    priority: f64,
    urgency: f64,
    expected_value: f64,
    estimated_cost: f64,
    deadline: f64,
    horizon_millis: u64,
}

impl PriorityWeights {
    /// All weights 1, a horizon of 24 hours.
    pub fn new() -> Self {
        Self {
            priority: 1.0,
            urgency: 1.0,
            expected_value: 1.0,
            estimated_cost: 1.0,
            deadline: 1.0,
            horizon_millis: 24 * 60 * 60 * 1_000,
        }
    }

    /// Sets the weight of the priority.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] where it is negative, no number, or more than 2⁴⁶; so for each weight.
    pub fn with_priority(self, weight: f64) -> Result<Self, PolicyError> {
        Ok(Self { priority: checked("priority weight", weight)?, ..self })
    }

    /// Sets the weight of the urgency.
    ///
    /// # Errors
    ///
    /// As [`with_priority`](Self::with_priority).
    pub fn with_urgency(self, weight: f64) -> Result<Self, PolicyError> {
        Ok(Self { urgency: checked("urgency weight", weight)?, ..self })
    }

    /// Sets the weight of the expected value.
    ///
    /// # Errors
    ///
    /// As [`with_priority`](Self::with_priority).
    pub fn with_expected_value(self, weight: f64) -> Result<Self, PolicyError> {
        Ok(Self { expected_value: checked("expected value weight", weight)?, ..self })
    }

    /// Sets the weight of the estimated cost, which is taken off.
    ///
    /// # Errors
    ///
    /// As [`with_priority`](Self::with_priority).
    pub fn with_estimated_cost(self, weight: f64) -> Result<Self, PolicyError> {
        Ok(Self { estimated_cost: checked("estimated cost weight", weight)?, ..self })
    }

    /// Sets the weight of a deadline that has come.
    ///
    /// # Errors
    ///
    /// As [`with_priority`](Self::with_priority).
    pub fn with_deadline(self, weight: f64) -> Result<Self, PolicyError> {
        Ok(Self { deadline: checked("deadline weight", weight)?, ..self })
    }

    /// Sets how long before a deadline it begins to count. Parts of a millisecond are cut off.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] where it is shorter than a millisecond or longer than 2⁴² of them, 139 years.
    pub fn with_horizon(self, horizon: Duration) -> Result<Self, PolicyError> {
        match u64::try_from(horizon.as_millis()) {
            Ok(horizon_millis) if (1..=fixed::MAX_HORIZON_MILLIS).contains(&horizon_millis) => {
                Ok(Self { horizon_millis, ..self })
            }
            _ => Err(PolicyError::Time { field: "horizon", value: horizon, wanted: "1 ms to 139 years" }),
        }
    }

    /// The weight of a deadline that has come.
    pub fn deadline(&self) -> f64 {
        self.deadline
    }

    /// How long before a deadline it begins to count, in milliseconds.
    pub fn horizon_millis(&self) -> u64 {
        self.horizon_millis
    }

    /// The score without the deadline term. It is not finite where a signal is not, or is too large.
    pub fn base(&self, signals: &PrioritySignals) -> f64 {
        signals.priority * self.priority
            + signals.urgency * self.urgency
            + signals.expected_value * self.expected_value
            - signals.estimated_cost * self.estimated_cost
    }

    /// The score at a moment of the wall clock, in milliseconds since 1970-01-01T00:00:00Z, for people to read: the order
    /// of steps is decided without its rounding.
    #[expect(clippy::cast_precision_loss, reason = "a time of 285,000 years keeps its milliseconds")]
    pub fn score(&self, signals: &PrioritySignals, now_unix_millis: u64) -> f64 {
        let term = signals.deadline_unix_millis.map_or(0.0, |deadline| {
            let remaining = deadline.saturating_sub(now_unix_millis).min(self.horizon_millis);
            self.deadline * (1.0 - remaining as f64 / self.horizon_millis as f64)
        });
        self.base(signals) + term
    }
}

impl Default for PriorityWeights {
    fn default() -> Self {
        Self::new()
    }
}

fn checked(field: &'static str, weight: f64) -> Result<f64, PolicyError> {
    if weight >= 0.0 && fixed::from_f64(weight).is_some() {
        Ok(weight)
    } else {
        Err(PolicyError::Number { field, value: weight, wanted: "a number from 0 to 2^46" })
    }
}
