//! The machine of a bounded sink: what waits, what is dropped, what is counted. It waits for nothing itself.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

/// Which event is dropped where all places are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// The one that comes: what led to the jam is kept.
    #[default]
    DropNewest,
    /// The one that waits longest: what is happening now is kept.
    DropOldest,
}

/// How many events came to a sink, and what became of them.
///
/// At each instant `published = delivered + failed + dropped + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkCounters {
    /// Taken from a publisher; those dropped later are among them, those refused after the end are not.
    pub published: u64,
    /// Taken by the sink behind.
    pub delivered: u64,
    /// Not taken by the sink behind: it returned an error or panicked.
    pub failed: u64,
    /// Dropped because no place was free.
    pub dropped: u64,
    /// Neither of these yet: in the queue, or in the hands of the sink behind.
    pub waiting: u64,
}

/// What came of handing an item to the sink behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    Delivered,
    Failed,
}

/// What the worker is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    Hand(T),
    Wait,
    End,
}

#[derive(Debug)]
pub(super) struct Queue<T> {
    capacity: usize,
    when_full: WhenFull,
    /// The items that wait, each with the number of its publication from 0, which rises from front to back.
    waiting: VecDeque<(u64, T)>,
    /// The number of the item that the sink behind has.
    in_hand: Option<u64>,
    closed: bool,
    published: u64,
    delivered: u64,
    failed: u64,
    dropped: u64,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize, when_full: WhenFull) -> Self {
        Self {
            capacity,
            when_full,
            waiting: VecDeque::new(),
            in_hand: None,
            closed: false,
            published: 0,
            delivered: 0,
            failed: 0,
            dropped: 0,
        }
    }

    /// Takes an item and returns the one that had no place; after the end it returns the item as an error.
    pub(super) fn push(&mut self, item: T) -> Result<Option<T>, T> {
        if self.closed {
            return Err(item);
        }
        let number = self.published;
        self.published += 1;
        let mut dropped = None;
        if self.waiting.len() < self.capacity {
            self.waiting.push_back((number, item));
        } else {
            self.dropped += 1;
            dropped = match self.when_full {
                WhenFull::DropNewest => Some(item),
                WhenFull::DropOldest => {
                    let oldest = self.waiting.pop_front().map(|(_, oldest)| oldest);
                    self.waiting.push_back((number, item));
                    oldest
                }
            };
        }
        Ok(dropped)
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Gives the worker, which has nothing in hand, its next item.
    pub(super) fn next(&mut self) -> Next<T> {
        debug_assert!(self.in_hand.is_none());
        match self.waiting.pop_front() {
            Some((number, item)) => {
                self.in_hand = Some(number);
                Next::Hand(item)
            }
            None if self.closed => Next::End,
            None => Next::Wait,
        }
    }

    /// Books what came of the item in hand.
    pub(super) fn finish(&mut self, handed: Handed) {
        debug_assert!(self.in_hand.is_some());
        self.in_hand = None;
        match handed {
            Handed::Delivered => self.delivered += 1,
            Handed::Failed => self.failed += 1,
        }
    }

    /// Whether at least half of what may wait does.
    pub(super) fn is_half_full(&self) -> bool {
        self.waiting.len() >= self.capacity.div_ceil(2)
    }

    /// Every publication with a smaller number is delivered, failed or dropped.
    pub(super) fn settled_below(&self) -> u64 {
        let first_waiting = self.waiting.front().map(|(number, _)| *number);
        self.in_hand.or(first_waiting).unwrap_or(self.published)
    }

    pub(super) fn counters(&self) -> SinkCounters {
        SinkCounters {
            published: self.published,
            delivered: self.delivered,
            failed: self.failed,
            dropped: self.dropped,
            waiting: self.waiting.len() as u64 + u64::from(self.in_hand.is_some()),
        }
    }
}
