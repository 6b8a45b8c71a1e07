//! Work that goes on although its caller has its answer: who it is, since when, and how it can be given up.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::task_tracker::TaskTrackerToken,
};

use convoke_core::{AgentId, SessionId, TaskId};
use convoke_registry::LeaseMark;

use crate::telemetry::Subject;

/// Work that goes on although its caller has its answer. It holds its lease until it ends, or until it is
/// [given up](crate::TeamRuntime::forfeit).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetachedWork {
    /// The session of its task.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Which execution of it.
    pub attempt: u32,
    /// Who does it; `None` where nobody in particular does.
    pub agent: Option<AgentId>,
    /// How long since its caller had the answer.
    pub age: Duration,
}

/// Why nothing was given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attempt {attempt} of task `{task}` in session `{session}` is not detached; `detached` says what is")]
pub struct NotDetached {
    /// The session as given.
    pub session: SessionId,
    /// The task as given.
    pub task: TaskId,
    /// The attempt as given.
    pub attempt: u32,
}

/// A piece of detached work as the runtime keeps it.
pub(crate) struct Kept {
    pub(crate) subject: Subject,
    pub(crate) mark: LeaseMark,
    /// The first poll of its run.
    pub(crate) started: Instant,
    since: Instant,
    /// Signalled when this goes: then the work has ended or is given up, and its record says so.
    ended: CancellationToken,
    _end: DropGuard,
    /// Holds up the end of a drain, until it has ended or is given up.
    _under_way: TaskTrackerToken,
}

/// The detached work of a runtime. A task has one piece at most.
#[derive(Default)]
pub(crate) struct Detached(Mutex<BTreeMap<(SessionId, TaskId), Kept>>);

impl Detached {
    pub(crate) fn add(
        &self,
        subject: Subject,
        mark: LeaseMark,
        started: Instant,
        under_way: TaskTrackerToken,
    ) {
        let key = (subject.session.clone(), subject.task.clone());
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let kept =
            Kept { subject, mark, started, since: Instant::now(), ended, _end: end, _under_way: under_way };
        self.0.lock().insert(key, kept);
    }

    /// Signalled when this piece has ended or is given up.
    pub(crate) fn end_of(
        &self,
        session: &SessionId,
        task: &TaskId,
        attempt: u32,
    ) -> Option<CancellationToken> {
        let kept = self.0.lock();
        let work = kept.get(&(session.clone(), task.clone()))?;
        (work.subject.attempt == attempt).then(|| work.ended.clone())
    }

    /// Takes it out once it has ended or is given up; `None` where that was done already.
    pub(crate) fn take(&self, session: &SessionId, task: &TaskId, attempt: u32) -> Option<Kept> {
        match self.0.lock().entry((session.clone(), task.clone())) {
            Entry::Occupied(kept) if kept.get().subject.attempt == attempt => Some(kept.remove()),
            _ => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// All of it, by session and task.
    pub(crate) fn list(&self) -> Vec<DetachedWork> {
        let kept = self.0.lock();
        kept.values()
            .map(|work| DetachedWork {
                session: work.subject.session.clone(),
                task: work.subject.task.clone(),
                attempt: work.subject.attempt,
                agent: work.subject.agent.clone(),
                age: work.since.elapsed(),
            })
            .collect()
    }
}
