//! Whose turn it is where an executor takes one step at a time.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::{
    StepIndex,
    machine::capabilities::{Capabilities, Effects, Placement},
};

/// What the machine keeps of the executor of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Executor {
    pub(super) effects: Effects,
    pub(super) cooperative: bool,
    pub(super) owns_deadline: bool,
    pub(super) gated: bool,
    pub(super) placement: Placement,
    pub(super) serial: Option<u32>,
}

#[derive(Debug, Default)]
struct Turn {
    holder: Option<StepIndex>,
    /// In the order in which they were first of all, but for the turn.
    waiting: VecDeque<StepIndex>,
}

/// The turns, by the number of the key.
#[derive(Debug, Default)]
pub(super) struct Serials {
    numbers: HashMap<Arc<str>, u32>,
    turns: Vec<Turn>,
}

impl Serials {
    pub(super) fn executor(&mut self, capabilities: Capabilities) -> Executor {
        Executor {
            effects: capabilities.effects,
            cooperative: capabilities.cooperative_cancellation,
            owns_deadline: capabilities.owns_deadline,
            gated: capabilities.requires_approval,
            placement: capabilities.placement,
            serial: capabilities.serial.map(|key| self.number(key)),
        }
    }

    fn number(&mut self, key: Arc<str>) -> u32 {
        // There are no more keys than steps, which 32 bits count.
        let next = u32::try_from(self.turns.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.turns.push(Turn::default());
        }
        number
    }

    /// Takes the turn, or waits for it. Where there is no key, it is always the step's turn.
    pub(super) fn take(&mut self, key: Option<u32>, step: StepIndex) -> bool {
        let Some(turn) = self.turn(key) else { return true };
        if turn.holder.is_some() {
            turn.waiting.push_back(step);
            return false;
        }
        turn.holder = Some(step);
        true
    }

    pub(super) fn give_back(&mut self, key: Option<u32>, step: StepIndex) {
        if let Some(turn) = self.turn(key)
            && turn.holder == Some(step)
        {
            turn.holder = None;
        }
    }

    /// The next that waits, where the turn is free.
    pub(super) fn next(&mut self, key: Option<u32>) -> Option<StepIndex> {
        self.turn(key).filter(|turn| turn.holder.is_none())?.waiting.pop_front()
    }

    fn turn(&mut self, key: Option<u32>) -> Option<&mut Turn> {
        key.and_then(|key| self.turns.get_mut(key as usize))
    }
}
