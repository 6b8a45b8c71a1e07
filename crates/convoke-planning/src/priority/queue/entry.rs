//! What the heaps hold.

use std::cmp::{Ordering, Reverse};

use crate::StepIndex;

/// The deadline of a step that has none: later than all others.
pub(super) const NO_DEADLINE: u64 = u64::MAX;

/// What the entries of all heaps have: whose they are, and as of which time in the queue.
pub(super) trait Entry: Copy + Ord {
    fn step(&self) -> StepIndex;
    fn generation(&self) -> u32;
}

/// A step by its key: the greatest is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) key: i128,
    pub(super) deadline: u64,
    pub(super) step: StepIndex,
    pub(super) generation: u32,
}

impl Ranked {
    pub(super) fn with_key(self, key: i128) -> Self {
        Self { key, ..self }
    }
}

/// A step by its deadline: the greatest has the earliest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    pub(super) deadline: u64,
    pub(super) base: i128,
    pub(super) step: StepIndex,
    pub(super) generation: u32,
}

impl Moves {
    /// The first moment at which less than the horizon remains.
    pub(super) fn enters(self, horizon: u64) -> u64 {
        self.deadline.saturating_sub(horizon).saturating_add(1)
    }

    pub(super) fn ranked(self, key: i128) -> Ranked {
        Ranked { key, deadline: self.deadline, step: self.step, generation: self.generation }
    }
}

macro_rules! ordered {
    ($name:ident, $entry:ident => $by:expr) => {
        impl Entry for $name {
            fn step(&self) -> StepIndex {
                self.step
            }

            fn generation(&self) -> u32 {
                self.generation
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                #[cfg(test)]
                super::tests::count_comparison();
                let by = |$entry: &Self| $by;
                by(self).cmp(&by(other))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }

        impl Eq for $name {}
    };
}

ordered!(Ranked, entry => (entry.key, Reverse(entry.deadline), Reverse(entry.step)));
ordered!(Moves, entry => Reverse(entry.deadline));
