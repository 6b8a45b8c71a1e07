//! A heap whose entries may be out of date.

use std::collections::{BinaryHeap, VecDeque};

use crate::priority::queue::{
    SPARE,
    entry::{Entry, Ranked},
    places::{Place, Places},
};

/// Entries, the greatest at hand. What is not greater than those that are in line goes behind them, as steps do that become
/// ready in plan order and are worth the same; the others wait in a heap.
#[derive(Debug)]
pub(super) struct Heap {
    place: Place,
    line: VecDeque<Ranked>,
    others: BinaryHeap<Ranked>,
}

impl Heap {
    /// A heap of entries that hold while their step is at `place`.
    pub(super) fn new(place: Place) -> Self {
        Self { place, line: VecDeque::new(), others: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, entry: Ranked) {
        if self.line.back().is_none_or(|last| entry <= *last) {
            self.line.push_back(entry);
        } else {
            self.others.push(entry);
        }
    }

    /// The greatest entry that holds.
    pub(super) fn peek(&mut self, places: &Places) -> Option<Ranked> {
        loop {
            let top = *self.line.front().max(self.others.peek())?;
            if places.is(top.step(), top.generation(), self.place) {
                return Some(top);
            }
            self.pop();
        }
    }

    /// Takes the greatest entry, which was looked at.
    pub(super) fn pop(&mut self) {
        if self.others.is_empty() || self.line.front() > self.others.peek() {
            self.line.pop_front();
        } else {
            self.others.pop();
        }
    }

    /// Throws out what is out of date, where that is most of it; `live` entries are not. The entries that go were pushed once each, and at least as
    /// many go as stay, so a sweep costs each push a constant.
    pub(super) fn sweep(&mut self, places: &Places, live: usize) {
        if self.line.len() + self.others.len() > 2 * live + SPARE {
            let holds = |entry: &Ranked| places.is(entry.step(), entry.generation(), self.place);
            self.line.retain(holds);
            self.others.retain(holds);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.others.len()
    }
}
