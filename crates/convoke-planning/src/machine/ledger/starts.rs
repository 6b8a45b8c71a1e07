//! Which step each start is of.

use std::collections::BTreeMap;

use crate::StepIndex;

/// Which step each start is of: four bytes for each, and of those that a snapshot counts, the last of each step alone.
#[derive(Debug, Default)]
pub(super) struct Starts {
    /// How many starts the snapshot counts.
    before: u64,
    last_before: BTreeMap<u64, StepIndex>,
    /// The steps of the starts that follow.
    since: Vec<StepIndex>,
}

/// No plan has so many steps.
const NOWHERE: StepIndex = StepIndex::new(u32::MAX);

impl Starts {
    /// So many starts, of which the last of each step are told by [`keep`](Self::keep).
    pub(super) fn counted(before: u64) -> Self {
        Self { before, ..Self::default() }
    }

    /// Takes the last start of a step; `false` where there is no such start, or where it is of another step.
    pub(super) fn keep(&mut self, start: u64, step: StepIndex) -> bool {
        start <= self.before && self.last_before.insert(start, step).is_none()
    }

    pub(super) fn count(&self) -> u64 {
        self.before.saturating_add(u64::try_from(self.since.len()).unwrap_or(u64::MAX))
    }

    pub(super) fn push(&mut self, step: StepIndex) {
        self.since.push(step);
    }

    /// The step of a start; `None` where there was none, or where its step has started again before the snapshot.
    pub(super) fn step_of(&self, start: u64) -> Option<StepIndex> {
        match start.checked_sub(self.before).and_then(|since| since.checked_sub(1)) {
            Some(place) => self.since.get(usize::try_from(place).ok()?).copied(),
            None => self.last_before.get(&start).copied(),
        }
    }

    /// The same by the places of another revision.
    pub(super) fn relocated(&self, place: impl Fn(StepIndex) -> Option<StepIndex>) -> Self {
        let last_before = self.last_before.iter();
        Self {
            before: self.before,
            last_before: last_before.filter_map(|(start, step)| Some((*start, place(*step)?))).collect(),
            since: self.since.iter().map(|step| place(*step).unwrap_or(NOWHERE)).collect(),
        }
    }
}
