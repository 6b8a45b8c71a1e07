//! Steps in the order of their scores, as time moves.

use crate::{
    StepIndex,
    priority::queue::{
        clock::Clock,
        entry::{Moves, NO_DEADLINE, Ranked},
        heap::Heap,
        places::{Place, Places},
        timers::Timers,
    },
};

/// A line for each place, and two more that say who moves on next.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) before: Heap,
    pub(super) inside: Heap,
    pub(super) overdue: Heap,
    pub(super) entering: Timers,
    pub(super) expiring: Timers,
    /// How many steps are at each place.
    counts: [usize; 3],
    /// No step moves on before this time.
    next_move: u64,
}

/// The first step of a lane at a moment, as its heap has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    place: Place,
    entry: Ranked,
}

impl First {
    /// A step that is the first for want of others.
    pub(super) fn of(item: Moves, clock: &Clock) -> Self {
        let place = clock.place(item.deadline);
        Self { place, entry: item.ranked(clock.key(place, item.base, item.deadline)) }
    }

    pub(super) fn step(self) -> StepIndex {
        self.entry.step
    }

    /// What it is ordered by, whatever time it is.
    pub(super) fn item(self, clock: &Clock) -> Moves {
        let Ranked { key, deadline, step, generation } = self.entry;
        Moves { deadline, base: clock.base(self.place, key, deadline), step, generation }
    }

    /// What compares at that moment, whatever the place and the lane.
    pub(super) fn rank(self, clock: &Clock) -> Ranked {
        self.entry.with_key(clock.score(self.place, self.entry.key))
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            before: Heap::new(Place::Before),
            inside: Heap::new(Place::Inside),
            overdue: Heap::new(Place::Overdue),
            entering: Timers::new(Place::Before),
            expiring: Timers::new(Place::Inside),
            counts: [0; 3],
            next_move: u64::MAX,
        }
    }
}

impl Lane {
    pub(super) fn is_empty(&self) -> bool {
        self.counts == [0; 3]
    }

    /// The first step now.
    pub(super) fn first(&mut self, places: &mut Places, clock: &Clock) -> Option<First> {
        self.advance(places, clock);
        let before = self.before.peek(places).map(|entry| First { place: Place::Before, entry });
        // Most plans have no deadlines, and all steps are here.
        let [_, 0, 0] = self.counts else {
            let inside = self.inside.peek(places).map(|entry| First { place: Place::Inside, entry });
            let overdue = self.overdue.peek(places).map(|entry| First { place: Place::Overdue, entry });
            return better(better(before, inside, clock), overdue, clock);
        };
        before
    }

    /// Takes the first step, which was looked at just now.
    pub(super) fn take(&mut self, first: First, places: &mut Places) {
        // It is at the top; were it left there, the next look would have to throw it away.
        match first.place {
            Place::Before => self.before.pop(),
            Place::Inside => self.inside.pop(),
            Place::Overdue => self.overdue.pop(),
        }
        if let Some(place) = places.leave(first.step()) {
            self.left(place, places);
        }
    }

    /// A step that was at a place here is there no more.
    pub(super) fn left(&mut self, place: Place, places: &Places) {
        let live = self.counts.get_mut(place as usize).map_or(0, |count| {
            *count = count.saturating_sub(1);
            *count
        });
        match place {
            Place::Before => {
                self.before.sweep(places, live);
                self.entering.sweep(places, live);
            }
            Place::Inside => {
                self.inside.sweep(places, live);
                self.expiring.sweep(places, live);
            }
            Place::Overdue => self.overdue.sweep(places, live),
        }
    }

    /// Moves on what the time has moved on.
    fn advance(&mut self, places: &mut Places, clock: &Clock) {
        if clock.now < self.next_move {
            return;
        }
        let entering = loop {
            match self.entering.peek(places) {
                Some(item) if item.enters(clock.horizon) <= clock.now => {
                    self.entering.pop();
                    self.settle(item, places, clock);
                }
                next => break next.map(|item| item.enters(clock.horizon)),
            }
        };
        let expiring = loop {
            match self.expiring.peek(places) {
                Some(item) if item.deadline <= clock.now => {
                    self.expiring.pop();
                    self.settle(item, places, clock);
                }
                next => break next.map(|item| item.deadline),
            }
        };
        self.next_move = entering.into_iter().chain(expiring).min().unwrap_or(u64::MAX);
    }

    /// Puts a step, which is in no other lane, where it belongs now.
    pub(super) fn settle(&mut self, item: Moves, places: &mut Places, clock: &Clock) {
        let place = clock.place(item.deadline);
        if let Some(before) = places.move_to(item.step, place) {
            self.left(before, places);
        }
        if let Some(count) = self.counts.get_mut(place as usize) {
            *count += 1;
        }
        let entry = item.ranked(clock.key(place, item.base, item.deadline));
        match place {
            Place::Before => {
                self.before.push(entry);
                if item.deadline != NO_DEADLINE {
                    self.entering.push(item);
                    self.next_move = self.next_move.min(item.enters(clock.horizon));
                }
            }
            Place::Inside => {
                self.inside.push(entry);
                self.expiring.push(item);
                self.next_move = self.next_move.min(item.deadline);
            }
            Place::Overdue => self.overdue.push(entry),
        }
    }
}

fn better(one: Option<First>, other: Option<First>, clock: &Clock) -> Option<First> {
    match (one, other) {
        (Some(a), Some(b)) if a.rank(clock) < b.rank(clock) => other,
        (None, _) => other,
        _ => one,
    }
}
