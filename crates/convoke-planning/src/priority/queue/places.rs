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
    /// How often the step entered, so that what is left of an earlier time is not taken for this one.
    generation: u32,
}

#[derive(Debug)]
pub(super) struct Places {
    slots: Vec<Slot>,
    counts: [usize; 3],
}

impl Places {
    pub(super) fn new(steps: usize) -> Self {
        Self { slots: vec![Slot::default(); steps], counts: [0; 3] }
    }

    pub(super) fn of(&self, step: StepIndex) -> Option<Place> {
        self.slots.get(step.row()).and_then(|slot| slot.place)
    }

    /// Whether that is the step's entry of now.
    pub(super) fn is(&self, step: StepIndex, generation: u32, place: Place) -> bool {
        self.slots
            .get(step.row())
            .is_some_and(|slot| slot.generation == generation && slot.place == Some(place))
    }

    pub(super) fn count(&self, place: Place) -> usize {
        self.counts.get(place as usize).copied().unwrap_or_default()
    }

    pub(super) fn queued(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Begins another time in the queue, and gives its number. The step is nowhere until it is moved.
    pub(super) fn enter(&mut self, step: StepIndex) -> u32 {
        let Some(slot) = self.slots.get_mut(step.row()) else { return 0 };
        slot.generation = slot.generation.wrapping_add(1);
        slot.generation
    }

    pub(super) fn move_to(&mut self, step: StepIndex, place: Place) {
        self.leave(step);
        if let Some(slot) = self.slots.get_mut(step.row()) {
            slot.place = Some(place);
            if let Some(count) = self.counts.get_mut(place as usize) {
                *count += 1;
            }
        }
    }

    pub(super) fn leave(&mut self, step: StepIndex) -> Option<Place> {
        let place = self.slots.get_mut(step.row())?.place.take()?;
        if let Some(count) = self.counts.get_mut(place as usize) {
            *count -= 1;
        }
        Some(place)
    }
}
