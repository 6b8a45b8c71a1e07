//! What a session makes of its log: when it is loaded, and when a write of it has failed.

use std::sync::Arc;

use convoke_core::{ErrorCode, TaskError, TaskId, TaskReport, TaskStatus};

use super::{
    Change, Current, Edit, Machine, Recorded, State,
    ahead::{Ahead, Redo, Waiter},
};
use crate::{
    SessionActivity, SessionLimits, SessionUsage, StoreError, StoreErrorKind, TaskRecord, attempt::AttemptKey,
};

impl Machine {
    /// The session of a log whose work is not alive: what was active is interrupted, and nothing is detached.
    pub(crate) fn loaded(state: State, limits: SessionLimits) -> Self {
        let mut machine = Self::new(state.id.clone(), limits);
        machine.ahead = Some(Box::new(Ahead::new(Arc::new(state.clone()))));
        machine.state = Current::Own(state);
        machine.end_lost(ErrorCode::Interrupted);
        let detached: Vec<_> = machine.records(|record| record.detached);
        if !detached.is_empty() {
            let mut edit = machine.commit();
            for task in &detached {
                edit.change_task(task, |record| record.detached = false);
            }
        }
        machine
    }

    /// Waits until all that is decided so far is in the log; `None` where it is.
    pub(crate) fn wait(&mut self) -> Option<Recorded> {
        self.ahead.as_mut()?.wait()
    }

    /// Waits until it is known what is in the log; `None` where it is, or never will be.
    pub(crate) fn wait_until_sure(&mut self) -> Option<Recorded> {
        self.ahead.as_mut()?.wait_until_sure()
    }

    /// Whether there is something for the recorder to do.
    pub(crate) fn has_work(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.has_work())
    }

    pub(crate) fn is_unsure(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.is_unsure())
    }

    /// Whether it belongs to another, or to nobody, for good.
    pub(crate) fn is_over(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.is_over())
    }

    /// Whether nobody comes back for it, by what readers see and by what they will see.
    pub(crate) fn is_idle(&self) -> bool {
        let is_level = self.ahead.as_ref().is_none_or(|ahead| ahead.is_level());
        is_level && self.state.tasks.activity().is_idle()
    }

    /// Takes no more decisions, unless a task has not come to its end.
    pub(crate) fn close(&mut self) -> Result<(), SessionActivity> {
        if !self.is_idle() && !self.is_over() {
            return Err(self.state.tasks.activity());
        }
        if let Some(ahead) = &mut self.ahead {
            let error = StoreError::new(&self.state.id, StoreErrorKind::Ended, "it was removed");
            ahead.fail(error, true);
        }
        Ok(())
    }

    /// What the recorder is to write next.
    pub(crate) fn take_batch(&mut self, most: usize) -> Vec<(u64, Vec<Change>)> {
        self.ahead.as_mut().map_or_else(Vec::new, |ahead| ahead.take(most))
    }

    /// So many commits are in the log. Who waited for them is told outside the lock.
    #[must_use]
    pub(crate) fn written(&mut self, commits: usize) -> Vec<Waiter> {
        self.ahead.as_mut().map_or_else(Vec::new, |ahead| ahead.written(commits))
    }

    /// A write failed. All that was decided since goes: the next decision sees what readers see.
    #[must_use]
    pub(crate) fn fail(&mut self, error: StoreError, for_good: bool) -> Vec<Waiter> {
        let Some(ahead) = &mut self.ahead else { return Vec::new() };
        let waiters = ahead.fail(error, for_good);
        self.state = Current::Own(State::clone(ahead.visible()));
        self.close_lost();
        waiters
    }

    /// What is too large for the log is left out when it is done again.
    pub(crate) fn slim(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            ahead.slim();
        }
    }

    /// The log says what has become of a write that failed. What has ended meanwhile is written behind it.
    #[must_use]
    pub(crate) fn recovered(&mut self, state: State) -> Vec<Waiter> {
        let Some(ahead) = &mut self.ahead else { return Vec::new() };
        let waiters = ahead.sure(Arc::new(state.clone()));
        let redo = ahead.take_redo();
        self.state = Current::Own(state);
        for redo in redo {
            match redo {
                Redo::End(key, report) => self.end_again(&key, &report),
                Redo::DetachedEnded(key, late) => {
                    self.detached_ended(&key, late.map(Arc::unwrap_or_clone));
                }
            }
        }
        self.end_lost(ErrorCode::StoreFailed);
        waiters
    }

    /// Takes an end that cannot be decided now.
    pub(super) fn put_off(&mut self, redo: Redo) {
        if let Some(ahead) = &mut self.ahead {
            ahead.put_off(redo);
        }
    }

    /// The caller has heard that this attempt failed. Where the log has its end after all, that stays.
    fn end_again(&mut self, key: &AttemptKey, report: &Arc<TaskReport>) {
        let is_open = |record: &TaskRecord| record.attempt == key.attempt && record.status.is_active();
        if !self.state.tasks.get(&key.task).is_some_and(is_open) {
            return;
        }
        let text = "session was not recorded, so that the end of the attempt is not in it";
        let mut failed = TaskReport::clone(report);
        failed.status = TaskStatus::Failed;
        failed.pause = None;
        failed.error = Some(TaskError::new(ErrorCode::StoreFailed, text));
        let failed = Arc::new(failed);
        let mut edit = self.commit();
        edit.redo(|| Redo::End(key.clone(), Arc::clone(&failed)));
        edit.fail_task(&key.task, failed);
    }

    /// Ends the active records that nobody here works on.
    fn end_lost(&mut self, code: ErrorCode) {
        let lost = self.records(|record| record.status.is_active());
        let is_lost = |task: &TaskId| self.open.get(task).is_none();
        let lost: Vec<_> = lost.into_iter().filter(is_lost).collect();
        if lost.is_empty() {
            return;
        }
        let session = self.state.id.clone();
        let mut edit = self.commit();
        for task in &lost {
            let Some(record) = edit.state.tasks.get(task) else { continue };
            let attempt = record.attempt;
            let text = if code == ErrorCode::Interrupted {
                format!(
                    "attempt {attempt} of task `{task}` was under way when its process ended; it may have taken effect, so look before you run it again"
                )
            } else {
                format!(
                    "attempt {attempt} of task `{task}` was not recorded, so that it did not begin; run it again"
                )
            };
            let mut report = TaskReport::new(task.clone(), session.clone(), TaskStatus::Failed);
            report.agent.clone_from(&record.agent);
            report.attempt = attempt;
            report.error = Some(TaskError::new(code, text));
            edit.fail_task(task, Arc::new(report));
        }
    }

    /// Closes the attempts whose admission or start is not in the session, and the room that they had.
    fn close_lost(&mut self) {
        let Self { open, state, .. } = self;
        open.retain(|task, open| {
            state
                .tasks
                .get(task)
                .is_some_and(|record| record.attempt == open.attempt && record.status == open.status())
        });
        let reserved = open.values().fold(SessionUsage::default(), |sum, open| sum.plus(open.reserved));
        self.reserved = reserved;
    }

    fn records(&self, which: impl Fn(&TaskRecord) -> bool) -> Vec<TaskId> {
        let records = self.state.tasks.iter().filter(|(_, record)| which(record));
        records.map(|(task, _)| task.clone()).collect()
    }
}

impl Edit<'_> {
    /// Puts the pause back that an attempt was to go on from; `false` where it was to go on from none.
    pub(super) fn restore_pause(&mut self, task: &TaskId) -> bool {
        let record = self.state.tasks.get(task);
        if record.is_none_or(|record| record.pause.is_none()) {
            return false;
        }
        self.change_task(task, |record| {
            if let Some(pause) = record.pause.take() {
                *record = TaskRecord { attempt: record.attempt, ..Arc::unwrap_or_clone(pause) };
            }
        });
        true
    }

    /// Ends an attempt that nobody works on any more.
    fn fail_task(&mut self, task: &TaskId, report: Arc<TaskReport>) {
        if self.restore_pause(task) {
            return;
        }
        self.change_task(task, |record| {
            record.status = TaskStatus::Failed;
            record.detached = report.detached;
            record.report = Some(report);
        });
    }
}
