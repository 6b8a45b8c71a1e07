//! Who moves on next.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::priority::queue::{
    SPARE,
    entry::{Entry, Moves},
    places::{Place, Places},
};

/// Steps by deadline, the earliest at hand. Entries may be out of date.
///
/// What is later than all that are sorted goes behind them: so does every step that moves on, since they do so by their
/// deadlines. Other newcomers wait in a heap. When they are more than the sorted ones, all are sorted, which costs each
/// newcomer O(log n) once, as a heap would, and a small part of the time.
#[derive(Debug)]
pub(super) struct Timers {
    place: Place,
    /// From `head` on, the earliest first; what is before that has gone.
    sorted: Vec<Reverse<Moves>>,
    head: usize,
    newcomers: BinaryHeap<Moves>,
}

impl Timers {
    /// Timers of entries that hold while their step is at `place`.
    pub(super) fn new(place: Place) -> Self {
        Self { place, sorted: Vec::new(), head: 0, newcomers: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, entry: Moves) {
        if self.sorted.last().is_some_and(|last| last.0 < entry) {
            return self.newcomers.push(entry);
        }
        if self.head > self.sorted.len() / 2 {
            self.forget();
        }
        self.sorted.push(Reverse(entry));
    }

    /// The earliest entry that holds.
    pub(super) fn peek(&mut self, places: &Places) -> Option<Moves> {
        if 2 * self.newcomers.len() > self.held() {
            self.forget();
            self.sorted.extend(self.newcomers.drain().map(Reverse));
            self.sorted.sort_unstable_by_key(|Reverse(entry)| entry.deadline);
        }
        loop {
            let first = match (self.sorted.get(self.head), self.newcomers.peek()) {
                (Some(Reverse(sorted)), Some(newcomer)) => *sorted.max(newcomer),
                (Some(Reverse(sorted)), None) => *sorted,
                (None, newcomer) => *newcomer?,
            };
            if places.is(first.step(), first.generation(), self.place) {
                return Some(first);
            }
            self.pop();
        }
    }

    /// As [`Heap::sweep`](super::heap::Heap::sweep).
    pub(super) fn sweep(&mut self, places: &Places, live: usize) {
        if self.held() > 2 * live + SPARE {
            let place = self.place;
            self.forget();
            self.sorted.retain(|Reverse(entry)| places.is(entry.step(), entry.generation(), place));
            self.newcomers.retain(|entry| places.is(entry.step(), entry.generation(), place));
        }
    }

    /// How many entries there are, those out of date among them.
    pub(super) fn held(&self) -> usize {
        self.sorted.len() - self.head + self.newcomers.len()
    }

    /// Takes what [`peek`](Self::peek) looked at.
    pub(super) fn pop(&mut self) {
        let sorted = self.sorted.get(self.head).map(|entry| &entry.0);
        if self.newcomers.is_empty() || sorted > self.newcomers.peek() {
            self.head += 1;
            if self.head == self.sorted.len() {
                self.forget();
            }
        } else {
            self.newcomers.pop();
        }
    }

    /// Lets go what has gone. Those that went pay for it.
    fn forget(&mut self) {
        self.sorted.drain(..self.head);
        self.head = 0;
    }
}
