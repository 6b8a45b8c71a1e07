//! The place of a step in its plan, and tables by place.

use std::fmt;

/// The place of a step in its plan, from 0, in plan order.
///
/// Only a plan gives one ([`Plan::index_of`](crate::Plan::index_of), [`Plan::indices`](crate::Plan::indices)), and it
/// means something in that revision of that plan alone. It is dense: what is known of each step fits a table with one
/// row a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(u32);

impl StepIndex {
    pub(crate) const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The place as a number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The place as a row of a slice or vector.
    pub fn row(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for StepIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepIndex({})", self.0)
    }
}
