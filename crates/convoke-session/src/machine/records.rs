//! Task records by id, with the counts that follow from them.

#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use imbl::{OrdMap, ordmap, shared_ptr::DefaultSharedPtr};

use convoke_core::TaskId;

use crate::{SessionActivity, TaskRecord};

/// The records of a session. All that touches one is here, so that the counts of [`SessionActivity`] follow.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    kept: Kept,
    activity: SessionActivity,
}

/// Most sessions are those of one task, which needs no map.
#[derive(Clone, Debug)]
enum Kept {
    One(Option<(TaskId, TaskRecord)>),
    Many(Map),
}

type Map = OrdMap<TaskId, Arc<TaskRecord>>;

impl Records {
    pub(crate) fn new() -> Self {
        Self { kept: Kept::One(None), activity: SessionActivity::default() }
    }

    pub(crate) fn activity(&self) -> SessionActivity {
        self.activity
    }

    pub(crate) fn get(&self, task: &TaskId) -> Option<&TaskRecord> {
        match &self.kept {
            Kept::One(one) => one.as_ref().filter(|(kept, _)| kept == task).map(|(_, record)| record),
            Kept::Many(many) => many.get(task).map(Arc::as_ref),
        }
    }

    pub(crate) fn iter(&self) -> Iter<'_> {
        match &self.kept {
            Kept::One(one) => Iter::One(one.as_ref()),
            Kept::Many(many) => Iter::Many(many.iter()),
        }
    }

    /// Keeps a record, in place of what its task had.
    pub(super) fn put(&mut self, task: TaskId, record: TaskRecord) {
        self.activity.add(&record);
        match &mut self.kept {
            Kept::One(one @ None) => *one = Some((task, record)),
            Kept::One(Some((kept, replaced))) if *kept == task => {
                self.activity.remove(&mem::replace(replaced, record));
            }
            Kept::One(one) => {
                let first = one.take().map(|(task, record)| (task, Arc::new(record)));
                self.kept = Kept::Many(first.into_iter().chain([(task, Arc::new(record))]).collect());
            }
            Kept::Many(many) => {
                if let Some(replaced) = many.insert(task, Arc::new(record)) {
                    self.activity.remove(&replaced);
                }
            }
        }
    }

    /// Changes a record in its place, unless a snapshot still has it; nothing where there is none.
    pub(super) fn change(&mut self, task: &TaskId, change: impl FnOnce(&mut TaskRecord)) {
        let record = match &mut self.kept {
            Kept::One(one) => one.as_mut().filter(|(kept, _)| kept == task).map(|(_, record)| record),
            Kept::Many(many) => many.get_mut(task).map(Arc::make_mut),
        };
        let Some(record) = record else { return };
        self.activity.remove(record);
        change(record);
        self.activity.add(record);
    }
}

/// The records by task.
pub(crate) enum Iter<'a> {
    One(Option<&'a (TaskId, TaskRecord)>),
    Many(ordmap::Iter<'a, TaskId, Arc<TaskRecord>, DefaultSharedPtr>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a TaskId, &'a TaskRecord);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(one) => one.take().map(|(task, record)| (task, record)),
            Self::Many(many) => many.next().map(|(task, record)| (task, &**record)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self {
            Self::One(one) => usize::from(one.is_some()),
            Self::Many(many) => many.len(),
        };
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(one) => one.take().map(|(task, record)| (task, record)),
            Self::Many(many) => many.next_back().map(|(task, record)| (task, &**record)),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}
