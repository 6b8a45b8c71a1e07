//! Where each step is in the queue.

use crate::StepIndex;

/// Where a step is, by the time that remains to its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The horizon is not reached, or there is no deadline.
    Before,
    /// Within the horizon.
    Inside,
    /// At the deadline or past it.
    Overdue,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    place: Option<Place>,
    /// The turn that it waits for aside.
    aside: Option<u32>,
    /// How often the step entered, so that what is left of an earlier time is not taken for this one.
    generation: u32,
}

#[derive(Debug)]
pub(super) struct Places {
    slots: Vec<Slot>,
    queued: usize,
}

impl Places {
    pub(super) fn new(steps: usize) -> Self {
        Self { slots: vec![Slot::default(); steps], queued: 0 }
    }

    pub(super) fn holds(&self, step: StepIndex) -> bool {
        self.slots.get(step.row()).is_some_and(|slot| slot.place.is_some())
    }

    /// The turn that the step waits for aside, if it does.
    pub(super) fn aside(&self, step: StepIndex) -> Option<u32> {
        self.slots.get(step.row()).and_then(|slot| slot.aside)
    }

    /// Whether that is the step's entry of now.
    pub(super) fn is(&self, step: StepIndex, generation: u32, place: Place) -> bool {
        self.slots
            .get(step.row())
            .is_some_and(|slot| slot.generation == generation && slot.place == Some(place))
    }

    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Begins another time in the queue of a step that has left, and gives its number. It is nowhere until it is moved.
    pub(super) fn enter(&mut self, step: StepIndex, aside: Option<u32>) -> u32 {
        let Some(slot) = self.slots.get_mut(step.row()) else { return 0 };
        slot.aside = aside;
        slot.generation = slot.generation.wrapping_add(1);
        slot.generation
    }

    /// Puts a step somewhere, and says where it was.
    pub(super) fn move_to(&mut self, step: StepIndex, place: Place) -> Option<Place> {
        let slot = self.slots.get_mut(step.row())?;
        let before = slot.place.replace(place);
        self.queued += usize::from(before.is_none());
        before
    }

    /// Takes a step out, and says where it was.
    pub(super) fn leave(&mut self, step: StepIndex) -> Option<Place> {
        let place = self.slots.get_mut(step.row())?.place.take()?;
        self.queued -= 1;
        Some(place)
    }
}
