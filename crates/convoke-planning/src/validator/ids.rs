//! The ids of a draft: those of its steps by place, and the others once each.

use std::collections::HashMap;

use convoke_core::StepId;

use crate::{
    IssueCode, StepDraft, StepIndex,
    validator::check::{Check, Subject},
};

/// The ids of the steps.
pub(super) struct StepIds {
    by_position: Vec<Option<StepId>>,
    positions: HashMap<StepId, StepIndex>,
}

impl StepIds {
    /// Of steps with the same id, the first has it.
    pub(super) fn new(check: &mut Check<'_>, drafts: &[StepDraft]) -> Self {
        let mut by_position = Vec::with_capacity(drafts.len());
        let mut positions = HashMap::with_capacity(drafts.len());
        for (index, draft) in (0_u32..).map(StepIndex::new).zip(drafts) {
            let subject = Subject { position: index.row(), id: &draft.id };
            let id = Self::read(check, subject);
            if let Some(id) = &id {
                let first = *positions.entry(id.clone()).or_insert(index);
                if first != index {
                    let what = format!(
                        "has the id of step number {}; give it another",
                        first.row().saturating_add(1)
                    );
                    check.of_step(IssueCode::DuplicateStepId, subject, &what);
                }
            }
            by_position.push(id);
        }
        Self { by_position, positions }
    }

    fn read(check: &mut Check<'_>, subject: Subject<'_>) -> Option<StepId> {
        if subject.id.is_empty() {
            check.of_step(IssueCode::MissingStepId, subject, "has no id; give it one");
            return None;
        }
        let id = StepId::new(subject.id);
        id.map_err(|error| {
            check.of_step(IssueCode::InvalidId, subject, &format!("cannot be named so: {error}"));
        })
        .ok()
    }

    pub(super) fn at(&self, index: StepIndex) -> Option<&StepId> {
        self.by_position.get(index.row()).and_then(Option::as_ref)
    }

    /// The step of that name, and its id as all its mentions share it.
    pub(super) fn find(&self, name: &str) -> Option<(&StepId, StepIndex)> {
        self.positions.get_key_value(name).map(|(id, index)| (id, *index))
    }

    pub(super) fn into_positions(self) -> HashMap<StepId, StepIndex> {
        self.positions
    }
}

/// Values that are made of a text once, and shared by all that write the same.
pub(super) struct Interned<T> {
    values: HashMap<String, T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { values: HashMap::new() }
    }
}

impl<T: Clone> Interned<T> {
    pub(super) fn get(&mut self, text: &str, make: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        if let Some(value) = self.values.get(text) {
            return Some(value.clone());
        }
        let value = make(text)?;
        self.values.insert(text.to_owned(), value.clone());
        Some(value)
    }
}
