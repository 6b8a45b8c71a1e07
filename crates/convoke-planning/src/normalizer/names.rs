//! Ids that nobody has or names.

use std::collections::{HashMap, HashSet};

use crate::StepDraft;

/// The ids that steps have or name. One that is named and that no step has may be a mistake; a new id must not hide it.
pub(super) struct Names {
    taken: HashSet<String>,
    /// Of a name that was asked for before, the last suffix given. Each suffix is tried once, so that a name that many
    /// steps share takes no more time than many names.
    suffixes: HashMap<String, u64>,
}

impl Names {
    pub(super) fn of(steps: &[StepDraft]) -> Self {
        let named = steps.iter().flat_map(|step| {
            let dependencies = step.depends_on.iter().map(|dependency| &dependency.step);
            std::iter::once(&step.id).chain(dependencies).chain(&step.input_from)
        });
        Self { taken: named.cloned().collect(), suffixes: HashMap::new() }
    }

    /// `wanted`, or where that is taken, with a suffix.
    pub(super) fn free(&mut self, wanted: &str) -> String {
        if self.taken.insert(wanted.to_owned()) { wanted.to_owned() } else { self.free_suffixed(wanted) }
    }

    /// `wanted` with the first suffix from `-2` on that makes it free.
    pub(super) fn free_suffixed(&mut self, wanted: &str) -> String {
        let suffix = self.suffixes.entry(wanted.to_owned()).or_insert(1);
        loop {
            #[cfg(test)]
            TRIED.set(TRIED.get() + 1);
            *suffix = suffix.saturating_add(1);
            let name = format!("{wanted}-{suffix}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
thread_local! {
    static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many suffixes were tried in this thread.
#[cfg(test)]
pub(super) fn tried() -> usize {
    TRIED.get()
}
