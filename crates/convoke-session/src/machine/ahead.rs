//! What a session has decided that its log does not have yet, so that no reader sees it.

use std::{collections::VecDeque, mem, sync::Arc};

use tokio::sync::oneshot;

use convoke_core::TaskReport;

use super::{Change, State};
use crate::{StoreError, attempt::AttemptKey};

/// Hears whether what it waits for is in the log.
pub(crate) type Recorded = oneshot::Receiver<Result<(), StoreError>>;
pub(crate) type Waiter = oneshot::Sender<Result<(), StoreError>>;

/// A commit on its way to the log.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) revision: u64,
    /// Until the recorder takes them.
    pub(crate) changes: Vec<Change>,
    /// What readers see once it is in the log.
    pub(crate) after: Arc<State>,
    pub(crate) redo: Option<Redo>,
    pub(crate) waiters: Vec<Waiter>,
}

/// What has happened outside the session, whatever becomes of the commit that says so.
#[derive(Clone, Debug)]
pub(crate) enum Redo {
    /// The attempt has ended, and its caller has this report.
    End(AttemptKey, Arc<TaskReport>),
    /// Detached work has ended so.
    DetachedEnded(AttemptKey, Option<Arc<TaskReport>>),
}

/// Whether decisions are taken.
#[derive(Debug)]
enum Stand {
    Open,
    /// A commit failed. What is in the log is found out first.
    Unsure(StoreError),
    /// For good: the log is somebody else's, or the recorder is gone.
    Over(StoreError),
}

/// The line of commits before the log. The last of them is what the next decision sees, the log what readers see.
#[derive(Debug)]
pub(crate) struct Ahead {
    visible: Arc<State>,
    line: VecDeque<Entry>,
    /// Of the commit in the making.
    changes: Vec<Change>,
    /// What the commit in the making says that has happened all the same.
    next_redo: Option<Redo>,
    stand: Stand,
    /// What to redo once it is known what is in the log.
    redo: Vec<Redo>,
    /// Who waits for that.
    unsure: Vec<Waiter>,
}

impl Ahead {
    pub(crate) fn new(visible: Arc<State>) -> Self {
        Self {
            visible,
            line: VecDeque::new(),
            changes: Vec::new(),
            next_redo: None,
            stand: Stand::Open,
            redo: Vec::new(),
            unsure: Vec::new(),
        }
    }

    pub(super) fn visible(&self) -> &Arc<State> {
        &self.visible
    }

    /// Adds to the commit in the making.
    pub(super) fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Says what is to be done again where the commit in the making is lost.
    pub(super) fn redo_next(&mut self, redo: Redo) {
        self.next_redo = Some(redo);
    }

    /// The commit in the making is complete, and in line.
    pub(super) fn commit(&mut self, after: &State) {
        self.line.push_back(Entry {
            revision: after.revision,
            changes: mem::take(&mut self.changes),
            after: Arc::new(after.clone()),
            redo: self.next_redo.take(),
            waiters: Vec::new(),
        });
    }

    /// Why nothing is decided now.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.stand {
            Stand::Open => Ok(()),
            Stand::Unsure(error) | Stand::Over(error) => Err(error.clone()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stand, Stand::Over(_))
    }

    /// Whether all that was decided is in the log.
    pub(super) fn is_level(&self) -> bool {
        self.line.is_empty() && self.redo.is_empty()
    }

    /// Whether there is something for the recorder to do.
    pub(super) fn has_work(&self) -> bool {
        match self.stand {
            Stand::Open => !self.line.is_empty(),
            Stand::Unsure(_) => !self.unsure.is_empty(),
            Stand::Over(_) => false,
        }
    }

    /// Leaves out of what is to be redone what may be large.
    pub(super) fn slim(&mut self) {
        for redo in &mut self.redo {
            match redo {
                Redo::End(_, report) => Arc::make_mut(report).output = None,
                Redo::DetachedEnded(_, late) => *late = None,
            }
        }
    }

    /// Waits until all that is decided so far is in the log; `None` where it is.
    pub(super) fn wait(&mut self) -> Option<Recorded> {
        let last = self.line.back_mut()?;
        let (waiter, recorded) = oneshot::channel();
        last.waiters.push(waiter);
        Some(recorded)
    }

    /// Waits until it is known what is in the log; `None` where it is, or never will be.
    pub(super) fn wait_until_sure(&mut self) -> Option<Recorded> {
        let Stand::Unsure(_) = self.stand else { return None };
        let (waiter, recorded) = oneshot::channel();
        self.unsure.push(waiter);
        Some(recorded)
    }

    pub(super) fn is_unsure(&self) -> bool {
        matches!(self.stand, Stand::Unsure(_))
    }

    /// Puts off what cannot be decided now and has happened all the same.
    pub(super) fn put_off(&mut self, redo: Redo) {
        self.redo.push(redo);
    }

    pub(super) fn take_redo(&mut self) -> Vec<Redo> {
        mem::take(&mut self.redo)
    }

    /// What the recorder is to write next, oldest first. It takes one batch at a time.
    pub(super) fn take(&mut self, most: usize) -> Vec<(u64, Vec<Change>)> {
        let batch = self.line.iter_mut().take(most);
        batch.map(|entry| (entry.revision, mem::take(&mut entry.changes))).collect()
    }

    /// The oldest commits are in the log: readers see them, and who waited for them hears so afterwards.
    pub(super) fn written(&mut self, commits: usize) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for entry in self.line.drain(..commits.min(self.line.len())) {
            self.visible = entry.after;
            waiters.extend(entry.waiters);
        }
        waiters
    }

    /// Nothing that is in line will be written, nor what was decided on top of it.
    pub(super) fn fail(&mut self, error: StoreError, for_good: bool) -> Vec<Waiter> {
        let mut waiters = mem::take(&mut self.unsure);
        for entry in self.line.drain(..) {
            waiters.extend(entry.waiters);
            self.redo.extend(entry.redo);
        }
        if !self.is_over() {
            self.stand = if for_good { Stand::Over(error) } else { Stand::Unsure(error) };
        }
        waiters
    }

    /// It is known what is in the log.
    pub(super) fn sure(&mut self, visible: Arc<State>) -> Vec<Waiter> {
        self.visible = visible;
        self.stand = Stand::Open;
        mem::take(&mut self.unsure)
    }
}
