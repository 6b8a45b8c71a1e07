//! Late work: how its end is kept, and what is decided about it.

use std::sync::Arc;

use convoke_core::{ErrorCode, TaskError, TaskId, TaskReport, TaskStatus};

use super::{
    Machine,
    ahead::Redo,
    open::Working,
    settle::{Publication, publish, publishes},
};
use crate::{Reconcile, ReconcileError, SessionUsage, TaskRecord, attempt::AttemptKey};

impl Machine {
    /// Marks the end of work that ran on after its attempt; `false` where there is none of this attempt.
    pub(crate) fn detached_ended(&mut self, key: &AttemptKey, late: Option<TaskReport>) -> bool {
        if self.is_unsure() {
            // Whether it is marked is not known yet.
            self.put_off(Redo::DetachedEnded(key.clone(), late.map(Arc::new)));
            return true;
        }
        let record = self.state.tasks.get(&key.task);
        let Some(record) = record.filter(|record| record.detached && record.attempt == key.attempt) else {
            return false;
        };
        // Where the attempt has published its output, another would take the same ids; and an active one is no end.
        let is_kept =
            |late: &TaskReport| !publishes(record.status) && !late.status.is_active() && !late.is_too_deep();
        let late = late.filter(is_kept);
        let late = late.map(|mut late| {
            late.task = key.task.clone();
            late.session = self.state.id.clone();
            late.attempt = key.attempt;
            late.agent.clone_from(&record.agent);
            // The request is gone by now; what it carried is in the report that its caller got.
            if let Some(report) = &record.report {
                late.metadata.clone_from(&report.metadata);
            }
            late.detached = false;
            Arc::new(late)
        });
        let mut edit = self.commit();
        edit.redo(|| Redo::DetachedEnded(key.clone(), late.clone()));
        edit.change_task(&key.task, |record| {
            record.detached = false;
            record.late = late;
        });
        true
    }

    /// Gives the report that the task has then.
    pub(crate) fn reconcile(
        &mut self,
        task: &TaskId,
        decision: Reconcile,
    ) -> Result<Arc<TaskReport>, ReconcileError> {
        self.check_open().map_err(|problem| ReconcileError::Store { task: task.clone(), problem })?;
        let Some(record) = self.state.tasks.get(task).cloned() else {
            return Err(ReconcileError::Unknown { task: task.clone() });
        };
        let status = record.status;
        if record.is_closed() {
            return Err(ReconcileError::Closed { task: task.clone() });
        }
        if record.detached {
            return Err(ReconcileError::StillDetached { task: task.clone(), attempt: record.attempt });
        }
        let Some(report) = record.report.clone().filter(|_| !status.is_active()) else {
            return Err(ReconcileError::Active { task: task.clone(), status });
        };
        match decision {
            _ if status == TaskStatus::Completed => {
                Err(ReconcileError::NothingToDecide { task: task.clone(), status })
            }
            Reconcile::Retry if record.allows_next_attempt() => {
                Err(ReconcileError::NothingToDecide { task: task.clone(), status })
            }
            Reconcile::Retry => {
                self.commit().change_task(task, |record| {
                    record.late = None;
                    record.reconciled = Some(decision);
                });
                Ok(report)
            }
            Reconcile::Abandon => Ok(self.abandon(task, status, report)),
            Reconcile::AcceptLate => match record.late.clone() {
                None => Err(ReconcileError::NoLateReport { task: task.clone(), status }),
                Some(late) => self.accept(task, &record, late),
            },
        }
    }

    /// A pause ends with it, so that its token answers nothing any more.
    fn abandon(&mut self, task: &TaskId, status: TaskStatus, report: Arc<TaskReport>) -> Arc<TaskReport> {
        let report = if status.is_paused() { Arc::new(closed(task, report)) } else { report };
        self.commit().change_task(task, |record| {
            record.status = report.status;
            record.report = Some(Arc::clone(&report));
            record.late = None;
            record.reconciled = Some(Reconcile::Abandon);
        });
        report
    }

    /// The settlement that the attempt would have had in time, without what it had staged until it was given up.
    fn accept(
        &mut self,
        task: &TaskId,
        record: &TaskRecord,
        late: Arc<TaskReport>,
    ) -> Result<Arc<TaskReport>, ReconcileError> {
        let key = AttemptKey { task: task.clone(), attempt: record.attempt };
        let working = Working::default();
        let publication = Publication::of(&late);
        if publishes(late.status) {
            self.check_output(&key, SessionUsage::default(), &working, &publication)?;
        }
        let mut edit = self.commit();
        if publishes(late.status) {
            publish(&mut edit, &key, record.agent.as_ref(), working, publication, record.staged);
        }
        edit.change_task(task, |record| {
            record.status = late.status;
            record.report = Some(Arc::clone(&late));
            record.late = None;
            record.reconciled = Some(Reconcile::AcceptLate);
        });
        Ok(late)
    }
}

/// The last report of a pause that nobody will answer.
fn closed(task: &TaskId, paused: Arc<TaskReport>) -> TaskReport {
    let mut report = Arc::unwrap_or_clone(paused);
    report.status = TaskStatus::Cancelled;
    report.pause = None;
    let text = format!("task `{task}` was closed for good while it waited for an answer");
    report.error = Some(TaskError::new(ErrorCode::Cancelled, text));
    report
}
