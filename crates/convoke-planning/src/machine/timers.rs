//! When the machine wants to look again.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use crate::StepIndex;

/// So many entries out of date are never worth a sweep.
const SPARE: usize = 64;

/// What is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The time of a start.
    Deadline,
    /// The time that its work has to end after that.
    Grace,
    /// The wait before another attempt.
    Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub(super) at: Duration,
    pub(super) step: StepIndex,
    /// The start that it belongs to; with another, it is out of date.
    pub(super) start: u64,
    pub(super) alarm: Alarm,
}

/// The times of steps, the earliest at hand. Entries out of date stay until they come to the top or are most of all.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
}

impl Timers {
    pub(super) fn push(&mut self, timer: Timer) {
        self.heap.push(Reverse(timer));
    }

    /// The earliest that holds.
    pub(super) fn peek(&mut self, holds: impl Fn(&Timer) -> bool) -> Option<Timer> {
        loop {
            let Reverse(top) = *self.heap.peek()?;
            if holds(&top) {
                return Some(top);
            }
            self.heap.pop();
        }
    }

    pub(super) fn pop(&mut self) {
        self.heap.pop();
    }

    /// Throws out what is out of date where that is most of it, so that each push pays for a constant.
    pub(super) fn sweep(&mut self, live: usize, holds: impl Fn(&Timer) -> bool) {
        if self.heap.len() > 2 * live + SPARE {
            self.heap.retain(|Reverse(timer)| holds(timer));
        }
    }

    /// Moves all to the places of another revision.
    pub(super) fn relocate(&mut self, place: impl Fn(StepIndex) -> Option<StepIndex>) {
        let timers = std::mem::take(&mut self.heap).into_iter();
        let moved =
            timers.filter_map(|Reverse(timer)| Some(Reverse(Timer { step: place(timer.step)?, ..timer })));
        self.heap = moved.collect();
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
