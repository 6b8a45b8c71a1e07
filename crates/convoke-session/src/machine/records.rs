//! Task records by id, with the counts that follow from them.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use imbl::{OrdMap, ordmap, shared_ptr::DefaultSharedPtr};

use convoke_core::TaskId;

use crate::{SessionActivity, TaskRecord};

/// The records of a session. All that touches one is here, so that the counts of [`SessionActivity`] follow.
#[derive(Clone, Debug)]
pub(crate) enum Records {
    /// Most sessions are those of one task, which needs neither a map nor counts.
    One(Option<(TaskId, TaskRecord)>),
    /// The records, and the counts of them all.
    Many(Map, SessionActivity),
}

type Map = OrdMap<TaskId, Arc<TaskRecord>>;

impl Records {
    pub(crate) fn new() -> Self {
        Self::One(None)
    }

    pub(crate) fn activity(&self) -> SessionActivity {
        match self {
            Self::One(one) => SessionActivity::of(one.iter().map(|(_, record)| record)),
            Self::Many(_, activity) => *activity,
        }
    }

    pub(crate) fn get(&self, task: &TaskId) -> Option<&TaskRecord> {
        match self {
            Self::One(one) => one.as_ref().filter(|(kept, _)| kept == task).map(|(_, record)| record),
            Self::Many(many, _) => many.get(task).map(Arc::as_ref),
        }
    }

    pub(crate) fn iter(&self) -> Iter<'_> {
        match self {
            Self::One(one) => Iter::One(one.as_ref()),
            Self::Many(many, _) => Iter::Many(many.iter()),
        }
    }

    /// Keeps a record, in place of what its task had.
    pub(super) fn put(&mut self, task: TaskId, record: TaskRecord) {
        match self {
            Self::One(one @ None) => *one = Some((task, record)),
            Self::One(Some((kept, replaced))) if *kept == task => *replaced = record,
            Self::One(one) => {
                let both = one.take().into_iter().chain([(task, record)]);
                let many: Map = both.map(|(task, record)| (task, Arc::new(record))).collect();
                let activity = SessionActivity::of(many.values().map(Arc::as_ref));
                *self = Self::Many(many, activity);
            }
            Self::Many(many, activity) => {
                activity.add(&record);
                if let Some(replaced) = many.insert(task, Arc::new(record)) {
                    activity.remove(&replaced);
                }
            }
        }
    }

    /// Changes a record in its place, unless a snapshot still has it; nothing where there is none.
    pub(super) fn change(&mut self, task: &TaskId, change: impl FnOnce(&mut TaskRecord)) {
        match self {
            Self::One(Some((kept, record))) if kept == task => change(record),
            Self::One(_) => {}
            Self::Many(many, activity) => {
                let Some(record) = many.get_mut(task).map(Arc::make_mut) else { return };
                activity.remove(record);
                change(record);
                activity.add(record);
            }
        }
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
