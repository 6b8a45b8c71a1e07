//! The attempts that have not ended, by task.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use convoke_core::TaskId;

use super::open::OpenAttempt;

/// At most one attempt a task. The first keeps its place until it ends, since few sessions have more at a time.
#[derive(Debug, Default)]
pub(super) struct OpenAttempts {
    first: Option<(TaskId, OpenAttempt)>,
    /// From the second on; none before, so that a session of one is smaller and has nothing to drop. Boxed one by one, since
    /// even a map of one makes room for many.
    others: Option<BTreeMap<TaskId, Box<OpenAttempt>>>,
}

impl OpenAttempts {
    pub(super) fn get(&self, task: &TaskId) -> Option<&OpenAttempt> {
        match &self.first {
            Some((first, open)) if first == task => Some(open),
            _ => self.others.as_ref()?.get(task).map(AsRef::as_ref),
        }
    }

    pub(super) fn get_mut(&mut self, task: &TaskId) -> Option<&mut OpenAttempt> {
        match &mut self.first {
            Some((first, open)) if first == task => Some(open),
            _ => self.others.as_mut()?.get_mut(task).map(AsMut::as_mut),
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &OpenAttempt> {
        let others = self.others.iter().flat_map(|others| others.values().map(AsRef::as_ref));
        self.first.iter().map(|(_, open)| open).chain(others)
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&TaskId, &OpenAttempt) -> bool) {
        self.first.take_if(|(task, open)| !is_kept(task, open));
        if let Some(others) = &mut self.others {
            others.retain(|task, open| is_kept(task, open));
        }
    }

    /// Of a task that has none.
    pub(super) fn insert(&mut self, task: TaskId, open: OpenAttempt) {
        if self.first.is_none() {
            self.first = Some((task, open));
        } else {
            self.others.get_or_insert_default().insert(task, Box::new(open));
        }
    }

    pub(super) fn remove(&mut self, task: &TaskId) -> Option<OpenAttempt> {
        match self.first.take_if(|(first, _)| first == task) {
            Some((_, open)) => Some(open),
            None => self.others.as_mut()?.remove(task).map(|open| *open),
        }
    }
}
