//! What speaks for doing a step before others.

use serde::{Deserialize, Serialize, Serializer, ser};

/// What speaks for doing a step before others that are ready too.
///
/// All numbers are 0 unless set, in whatever unit the writer of the plan chooses for all its steps.
///
/// ```
/// use convoke_planning::PrioritySignals;
///
/// let signals = PrioritySignals::new().with_priority(2.0).with_estimated_cost(0.5);
/// assert_eq!(signals.deadline_unix_millis, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PrioritySignals {
    /// How much it matters; may be negative.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "finite")]
    pub priority: f64,
    /// How soon it is wanted; not negative.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "finite")]
    pub urgency: f64,
    /// What its result is worth; not negative.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "finite")]
    pub expected_value: f64,
    /// What it takes; speaks against the step, and is not negative.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "finite")]
    pub estimated_cost: f64,
    /// When it should be done, by the wall clock, in milliseconds since 1970-01-01T00:00:00Z. It orders the ready steps
    /// and stops nothing; none unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_unix_millis: Option<u64>,
}

impl PrioritySignals {
    /// No signal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says how much it matters.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = priority;
        self
    }

    /// Says how soon it is wanted.
    #[must_use]
    pub fn with_urgency(mut self, urgency: f64) -> Self {
        self.urgency = urgency;
        self
    }

    /// Says what its result is worth.
    #[must_use]
    pub fn with_expected_value(mut self, expected_value: f64) -> Self {
        self.expected_value = expected_value;
        self
    }

    /// Says what it takes.
    #[must_use]
    pub fn with_estimated_cost(mut self, estimated_cost: f64) -> Self {
        self.estimated_cost = estimated_cost;
        self
    }

    /// Says when it should be done, in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn with_deadline(mut self, unix_millis: u64) -> Self {
        self.deadline_unix_millis = Some(unix_millis);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        [self.priority, self.urgency, self.expected_value, self.estimated_cost].iter().all(is_zero)
            && self.deadline_unix_millis.is_none()
    }

    /// The numbers by name, and whether each may be negative.
    pub(crate) fn numbers(&self) -> [(&'static str, f64, Sign); 4] {
        [
            ("priority", self.priority, Sign::Any),
            ("urgency", self.urgency, Sign::NotNegative),
            ("expected_value", self.expected_value, Sign::NotNegative),
            ("estimated_cost", self.estimated_cost, Sign::NotNegative),
        ]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Any,
    NotNegative,
}

/// A negative zero is written, so that what is read is what was written, bit for bit.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_zero(number: &f64) -> bool {
    number.to_bits() == 0
}

/// JSON has no word for these numbers, and `null` would be read as something else.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn finite<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() {
        serializer.serialize_f64(*number)
    } else {
        Err(ser::Error::custom(format_args!(
            "priority signal is {number}, which JSON cannot say; give a number"
        )))
    }
}
