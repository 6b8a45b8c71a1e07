//! Whose turn it is where an executor takes one step at a time.

use std::{collections::HashMap, sync::Arc};

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

/// Who has the turns, by the number of the key. Those that wait for one are [aside](crate::ReadyQueue) in the queue.
#[derive(Debug, Default)]
pub(super) struct Serials {
    numbers: HashMap<Arc<str>, u32>,
    /// More than one has it only where a revision gave one key to steps that were at work.
    holders: Vec<Vec<StepIndex>>,
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
        let next = u32::try_from(self.holders.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.holders.push(Vec::new());
        }
        number
    }

    /// Whether nobody has the turn.
    pub(super) fn is_free(&self, key: u32) -> bool {
        self.holders.get(key as usize).is_none_or(Vec::is_empty)
    }

    /// Gives the turn to a step; without a key, there is none.
    pub(super) fn hold(&mut self, key: Option<u32>, step: StepIndex) {
        if let Some(holders) = self.holders_of(key) {
            holders.push(step);
        }
    }

    /// Takes the turn from a step, if it has it.
    pub(super) fn give_back(&mut self, key: Option<u32>, step: StepIndex) {
        if let Some(holders) = self.holders_of(key) {
            holders.retain(|holder| *holder != step);
        }
    }

    fn holders_of(&mut self, key: Option<u32>) -> Option<&mut Vec<StepIndex>> {
        self.holders.get_mut(key? as usize)
    }
}
