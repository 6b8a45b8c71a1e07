//! Who moves on next.

use std::collections::BinaryHeap;

use crate::priority::queue::{
    SPARE,
    entry::{Entry, Moves},
    places::{Place, Places},
};

/// Steps by deadline, the earliest at hand. Entries may be out of date.
///
/// Newcomers wait in a heap. When they are more than the others, all are sorted, which costs each newcomer O(log n) once,
/// as a heap would, and a small part of the time.
#[derive(Debug)]
pub(super) struct Timers {
    place: Place,
    /// The earliest is the last.
    sorted: Vec<Moves>,
    newcomers: BinaryHeap<Moves>,
}

impl Timers {
    /// Timers of entries that hold while their step is at `place`.
    pub(super) fn new(place: Place) -> Self {
        Self { place, sorted: Vec::new(), newcomers: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, entry: Moves) {
        self.newcomers.push(entry);
    }

    /// The earliest entry that holds.
    pub(super) fn peek(&mut self, places: &Places) -> Option<Moves> {
        if self.newcomers.len() > self.sorted.len() {
            self.sorted.extend(self.newcomers.drain());
            self.sorted.sort_unstable();
        }
        loop {
            let first = self.sorted.last().max(self.newcomers.peek()).copied()?;
            if places.is(first.step(), first.generation(), self.place) {
                return Some(first);
            }
            self.pop();
        }
    }

    /// Takes the earliest entry that holds, if it is `wanted`.
    pub(super) fn pop_if(&mut self, places: &Places, wanted: impl FnOnce(&Moves) -> bool) -> Option<Moves> {
        let first = self.peek(places).filter(wanted)?;
        self.pop();
        Some(first)
    }

    /// As [`Heap::sweep`](super::heap::Heap::sweep).
    pub(super) fn sweep(&mut self, places: &Places) {
        if self.sorted.len() + self.newcomers.len() > 2 * places.count(self.place) + SPARE {
            let place = self.place;
            self.sorted.retain(|entry| places.is(entry.step(), entry.generation(), place));
            self.newcomers.retain(|entry| places.is(entry.step(), entry.generation(), place));
        }
    }

    pub(super) fn clear(&mut self) {
        self.sorted.clear();
        self.newcomers.clear();
    }

    /// Takes what `peek` looked at.
    fn pop(&mut self) {
        if self.sorted.last() > self.newcomers.peek() {
            self.sorted.pop();
        } else {
            self.newcomers.pop();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.newcomers.len()
    }
}
