//! What time it is, and what it does to scores.

use crate::priority::{fixed, queue::places::Place};

/// A moment, and the deadline term of the plan. The [queue](super) says why these numbers order the steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// In milliseconds since 1970-01-01T00:00:00Z.
    pub(super) now: u64,
    /// In milliseconds.
    pub(super) horizon: u64,
    /// The weight of a deadline that has come.
    pub(super) weight: i128,
}

impl Clock {
    /// A time before the one that it knows counts as that one.
    pub(super) fn set(&mut self, now: u64) {
        self.now = self.now.max(now.min(fixed::MAX_NOW_MILLIS));
    }

    /// Where a step of this deadline is.
    pub(super) fn place(&self, deadline: u64) -> Place {
        match deadline.saturating_sub(self.now) {
            0 => Place::Overdue,
            remaining if remaining < self.horizon => Place::Inside,
            _ => Place::Before,
        }
    }

    /// What orders the steps of a place at any time.
    pub(super) fn key(&self, place: Place, base: i128, deadline: u64) -> i128 {
        match place {
            Place::Before | Place::Overdue => base,
            Place::Inside => base * i128::from(self.horizon) - self.weight * i128::from(deadline),
        }
    }

    /// The score without the deadline term that a key was made of.
    pub(super) fn base(&self, place: Place, key: i128, deadline: u64) -> i128 {
        match place {
            Place::Before | Place::Overdue => key,
            Place::Inside => (key + self.weight * i128::from(deadline)) / i128::from(self.horizon),
        }
    }

    /// The score × horizon now.
    pub(super) fn score(&self, place: Place, key: i128) -> i128 {
        let horizon = i128::from(self.horizon);
        match place {
            Place::Before => key * horizon,
            Place::Inside => key + self.weight * (horizon + i128::from(self.now)),
            Place::Overdue => (key + self.weight) * horizon,
        }
    }
}
