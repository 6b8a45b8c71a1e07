//! A heap whose entries may be out of date.

use std::collections::BinaryHeap;

use crate::priority::queue::{
    SPARE,
    entry::{Entry, Ranked},
    places::{Place, Places},
};

#[derive(Debug)]
pub(super) struct Heap {
    place: Place,
    entries: BinaryHeap<Ranked>,
}

impl Heap {
    /// A heap of entries that hold while their step is at `place`.
    pub(super) fn new(place: Place) -> Self {
        Self { place, entries: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, entry: Ranked) {
        self.entries.push(entry);
    }

    /// The greatest entry that holds.
    pub(super) fn peek(&mut self, places: &Places) -> Option<Ranked> {
        loop {
            let top = *self.entries.peek()?;
            if places.is(top.step(), top.generation(), self.place) {
                return Some(top);
            }
            self.entries.pop();
        }
    }

    /// Takes the greatest entry, which was looked at.
    pub(super) fn pop(&mut self) {
        self.entries.pop();
    }

    /// Throws out what is out of date, where that is most of it; `live` entries are not. The entries that go were pushed once each, and at least as
    /// many go as stay, so a sweep costs each push a constant.
    pub(super) fn sweep(&mut self, places: &Places, live: usize) {
        if self.entries.len() > 2 * live + SPARE {
            let place = self.place;
            self.entries.retain(|entry| places.is(entry.step(), entry.generation(), place));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
