//! Reservations: units set aside, until they are settled, sent or given back.

use super::{Budget, Units};

/// Units set aside in a budget and all its ancestors.
///
/// Dropped before [`sent`](Self::sent), it gives everything back. Dropped after, all of it is spent: what left and was
/// never heard of again may have taken everything.
#[derive(Debug)]
#[must_use = "dropping a reservation gives it back"]
pub struct Reservation {
    budget: Budget,
    units: Units,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Refund,
    Commit,
    Settled,
}

impl Reservation {
    pub(super) fn new(budget: Budget, units: Units) -> Self {
        Self { budget, units, end: End::Refund }
    }

    /// What is set aside.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Marks the moment at which the call leaves; from here on it is spent unless it is settled.
    pub fn sent(&mut self) {
        self.end = End::Commit;
    }

    /// Books what the call really took. More than was reserved is booked too, and makes the next reservation refuse.
    ///
    /// A reserved counter that `actual` does not name is spent as reserved, because nobody knows what it took; one that
    /// it names with 0 is given back.
    ///
    /// ```
    /// use convoke_core::{Budget, Units};
    ///
    /// # fn main() -> Result<(), convoke_core::BudgetError> {
    /// let budget = Budget::builder().limit("calls", 10).unlimited("tokens").unlimited("cost").build();
    /// let mut reservation = budget.reserve(Units::calls(1).with("tokens", 500).with("cost", 90))?;
    /// reservation.sent();
    /// reservation.settle(&Units::calls(1).with("cost", 0));
    ///
    /// assert_eq!((budget.usage("tokens").committed, budget.usage("cost").committed), (500, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn settle(mut self, actual: &Units) {
        self.budget.settle(&self.units, &actual.or(&self.units));
        self.end = End::Settled;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        match self.end {
            End::Refund => self.budget.settle(&self.units, &Units::default()),
            End::Commit => self.budget.settle(&self.units, &self.units),
            End::Settled => {}
        }
    }
}
