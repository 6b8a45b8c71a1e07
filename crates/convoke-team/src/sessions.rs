//! The sessions of a runtime, by id.

use std::collections::{HashMap, hash_map::Entry};

use parking_lot::RwLock;

use convoke_core::{AgentId, ErrorCode, IdError, SessionId, TaskError, TaskId, TaskStatus};
use convoke_session::{
    AdmissionOptions, Admitted, Attempt, Limit, ReconcileError, Session, SessionActivity, SessionLimits,
    StoreError, TaskRecord,
};

/// Why a session was not created or not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionAdminError {
    /// The id is taken.
    #[error("session `{session}` exists already; use it, or choose another id")]
    Exists {
        /// The session.
        session: SessionId,
    },
    /// The id is no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The runtime has no such session.
    #[error("session `{session}` is not known here; create it, or run a task in it")]
    Unknown {
        /// The id as given.
        session: String,
    },
    /// A task of the session has not come to its end.
    #[error(
        "session `{session}` has {} active, {} paused, {} detached and {} late tasks; \
         remove it once they have ended, or reconcile them",
        activity.active, activity.paused, activity.detached, activity.late
    )]
    InUse {
        /// The session.
        session: SessionId,
        /// What is under way.
        activity: SessionActivity,
    },
    /// The session refuses the decision.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// The session would be in a journal, which this does not wait for.
    #[error("session `{session}` is kept in the journal of the runtime; use `open_session`")]
    Recorded {
        /// The session.
        session: SessionId,
    },
    /// The journal did not give, or did not lose, the session.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runtime keeps as many sessions as it may.
    #[error("{}", too_many(*limit))]
    TooMany {
        /// How many it keeps at most.
        limit: u64,
    },
}

impl SessionAdminError {
    /// The error as the report of a run carries it.
    pub(crate) fn into_task_error(self) -> TaskError {
        match self {
            Self::Store(error) => error.to_task_error(),
            Self::TooMany { .. } => TaskError::new(ErrorCode::SessionFull, self.to_string()),
            _ => TaskError::new(ErrorCode::InvalidRequest, self.to_string()),
        }
    }
}

fn too_many(limit: u64) -> String {
    format!("{limit} sessions are kept, which is the limit; remove some, or raise `max_sessions`")
}

/// A task that has not come to its end when a runtime has drained.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedTask {
    /// Its session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Which execution of it.
    pub attempt: u32,
    /// Who has it; `None` where it waits, or where nobody in particular does.
    pub agent: Option<AgentId>,
    /// Where it stands.
    pub status: TaskStatus,
    /// Whether its caller has an answer already.
    pub detached: bool,
}

/// How long the runtime keeps a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the host removes it: it was named.
    UntilRemoved,
    /// As long as work of it is active, paused, detached or late.
    OfItsWork,
    /// It is that of the task that asks, and is not made anew once that has ended.
    OfItsCaller,
}

#[derive(Debug)]
struct Kept {
    session: Session,
    lifetime: Lifetime,
}

impl Kept {
    /// Whether it was kept only for its work, and that is over.
    fn is_over(&self) -> bool {
        self.lifetime == Lifetime::OfItsWork && self.session.is_idle()
    }
}

/// The sessions by id.
///
/// Admission happens under the read lock and removal under the write lock, so that no task is admitted to a session that
/// is being forgotten.
#[derive(Debug)]
pub(crate) struct Sessions {
    kept: RwLock<HashMap<SessionId, Kept>>,
    limits: SessionLimits,
    /// How many are kept at most.
    max: Limit,
}

impl Sessions {
    /// Each session that is made here takes `limits`.
    pub(crate) fn new(limits: SessionLimits, max: Limit) -> Self {
        Self { kept: RwLock::default(), limits, max }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Session> {
        Some(self.kept.read().get(id)?.session.clone())
    }

    /// Admits an attempt to a session, which is made if it does not exist and the attempt is admitted.
    pub(crate) fn admit(
        &self,
        id: &SessionId,
        lifetime: Lifetime,
        attempt: Attempt,
        options: AdmissionOptions,
    ) -> Result<Admitted, TaskError> {
        // One of the run's own is not there yet.
        if lifetime != Lifetime::OfItsWork
            && let Some(kept) = self.kept.read().get(id)
        {
            return Ok(kept.session.admit_with(attempt, options)?);
        }
        let mut sessions = self.kept.write();
        let room = self.room(&sessions);
        match sessions.entry(id.clone()) {
            Entry::Occupied(kept) => Ok(kept.get().session.admit_with(attempt, options)?),
            Entry::Vacant(_) if lifetime == Lifetime::OfItsCaller => {
                let text = format!("session `{id}` of the task that asks is over; ask before that ends");
                Err(TaskError::new(ErrorCode::InvalidRequest, text))
            }
            Entry::Vacant(free) => {
                room.map_err(|limit| TaskError::new(ErrorCode::SessionFull, too_many(limit)))?;
                let session = Session::with_limits(id.clone(), self.limits);
                let admitted = session.admit_with(attempt, options)?;
                free.insert(Kept { session, lifetime });
                Ok(admitted)
            }
        }
    }

    pub(crate) fn create(&self, id: SessionId) -> Result<Session, SessionAdminError> {
        let mut sessions = self.kept.write();
        let room = self.room(&sessions);
        match sessions.entry(id) {
            Entry::Occupied(taken) => Err(SessionAdminError::Exists { session: taken.key().clone() }),
            Entry::Vacant(free) => {
                room.map_err(|limit| SessionAdminError::TooMany { limit })?;
                let session = Session::with_limits(free.key().clone(), self.limits);
                Ok(free.insert(Kept { session, lifetime: Lifetime::UntilRemoved }).session.clone())
            }
        }
    }

    /// The session that can be written to: not one whose log is another's by now.
    pub(crate) fn usable(&self, id: &SessionId) -> Option<Session> {
        self.get(id.as_str()).filter(|session| !session.is_over())
    }

    /// How much each session takes.
    pub(crate) fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// Whether a session may be loaded under this id.
    pub(crate) fn check_room(&self, id: &SessionId) -> Result<(), SessionAdminError> {
        let sessions = self.kept.read();
        if sessions.contains_key(id) {
            return Ok(());
        }
        self.room(&sessions).map_err(|limit| SessionAdminError::TooMany { limit })
    }

    /// Keeps a session that was loaded, in place of one that is over.
    pub(crate) fn keep(&self, session: &Session) -> Result<(), SessionAdminError> {
        let mut sessions = self.kept.write();
        if !sessions.contains_key(session.id()) {
            self.room(&sessions).map_err(|limit| SessionAdminError::TooMany { limit })?;
        }
        let kept = Kept { session: session.clone(), lifetime: Lifetime::UntilRemoved };
        let replaced = sessions.insert(session.id().clone(), kept);
        drop(sessions);
        // Outside the lock.
        drop(replaced);
        Ok(())
    }

    /// A session that is there, or a new one; either way it stays until it is removed.
    pub(crate) fn open(&self, id: SessionId, limits: SessionLimits) -> Result<Session, SessionAdminError> {
        let mut sessions = self.kept.write();
        let room = self.room(&sessions);
        match sessions.entry(id) {
            Entry::Occupied(mut kept) => {
                kept.get_mut().lifetime = Lifetime::UntilRemoved;
                Ok(kept.get().session.clone())
            }
            Entry::Vacant(free) => {
                room.map_err(|limit| SessionAdminError::TooMany { limit })?;
                let session = Session::with_limits(free.key().clone(), limits);
                Ok(free.insert(Kept { session, lifetime: Lifetime::UntilRemoved }).session.clone())
            }
        }
    }

    /// The limit, where it leaves no room for one more.
    fn room(&self, sessions: &HashMap<SessionId, Kept>) -> Result<(), u64> {
        match self.max {
            Limit::Finite(limit) if sessions.len() as u64 >= limit => Err(limit),
            _ => Ok(()),
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Session> {
        self.kept.read().values().map(|kept| kept.session.clone()).collect()
    }

    /// What has not come to its end, by session and task.
    pub(crate) fn unfinished(&self) -> Vec<UnfinishedTask> {
        let snapshots: Vec<_> = self.all().iter().map(Session::snapshot).collect();
        let mut unfinished: Vec<_> = snapshots
            .iter()
            .flat_map(|snapshot| {
                let is_alive = |record: &TaskRecord| record.status.is_active() || record.detached;
                snapshot.tasks().filter(move |(_, record)| is_alive(record)).map(|(task, record)| {
                    UnfinishedTask {
                        session: snapshot.id().clone(),
                        task: task.clone(),
                        attempt: record.attempt,
                        agent: record.agent.clone(),
                        status: record.status,
                        detached: record.detached,
                    }
                })
            })
            .collect();
        unfinished
            .sort_unstable_by(|one, other| (&one.session, &one.task).cmp(&(&other.session, &other.task)));
        unfinished
    }

    pub(crate) fn remove(&self, id: &str) -> Result<Session, SessionAdminError> {
        let mut sessions = self.kept.write();
        let unknown = || SessionAdminError::Unknown { session: id.to_owned() };
        let kept = sessions.get(id).ok_or_else(unknown)?;
        let in_use = |activity| SessionAdminError::InUse { session: kept.session.id().clone(), activity };
        kept.session.close().map_err(in_use)?;
        Ok(sessions.remove(id).ok_or_else(unknown)?.session)
    }

    /// Forgets a session that was kept only for its last work, once that is over.
    pub(crate) fn end_if_over(&self, id: &SessionId) {
        if self.kept.read().get(id).is_some_and(Kept::is_over) {
            self.end_own_if_over(id);
        }
    }

    /// As [`end_if_over`](Self::end_if_over), for whoever expects that it is over: looked up but once, and without a copy of
    /// the id.
    pub(crate) fn end_own_if_over(&self, id: &SessionId) {
        let mut sessions = self.kept.write();
        match sessions.remove_entry(id) {
            Some((_, kept)) if kept.is_over() => {
                drop(sessions);
                // Outside the lock.
                drop(kept);
            }
            Some((id, kept)) => drop(sessions.insert(id, kept)),
            None => {}
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.read().len()
    }
}
