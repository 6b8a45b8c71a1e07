//! The agents with a free unit that meet a demand, best first.

use std::{collections::BTreeSet, mem};

use super::load::Load;

/// The best stands apart from the others, so that who is alone, or stays the best, is moved in no tree.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Free {
    best: Option<Load>,
    others: BTreeSet<Load>,
}

impl Free {
    pub(super) fn best(&self) -> Option<&Load> {
        self.best.as_ref()
    }

    pub(super) fn insert(&mut self, load: Load) {
        match &mut self.best {
            Some(best) if *best < load => _ = self.others.insert(load),
            best => self.others.extend(best.replace(load)),
        }
    }

    pub(super) fn remove(&mut self, load: &Load) {
        if self.is_best(load) {
            self.best = self.others.pop_first();
        } else {
            self.others.remove(load);
        }
    }

    /// Moves an agent, which is listed as `load`, to where it belongs with so many units in use.
    pub(super) fn reorder(&mut self, load: &Load, active: u32) {
        if !self.is_best(load) {
            let is_worse = active > load.active;
            // Moved as it is, since a copy of the id costs more than the rest.
            match self.others.take(load).map(|load| Load { active, ..load }) {
                Some(load) if is_worse => _ = self.others.insert(load),
                Some(load) => self.insert(load),
                None => {}
            }
            return;
        }
        let Some(best) = &mut self.best else { return };
        best.active = active;
        if self.others.first().is_some_and(|other| other < best) {
            let second = self.others.pop_first();
            self.others.extend(mem::replace(&mut self.best, second));
        }
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Load> {
        self.best.iter().chain(&self.others)
    }

    fn is_best(&self, load: &Load) -> bool {
        self.best.as_ref().is_some_and(|best| best.key == load.key)
    }
}
