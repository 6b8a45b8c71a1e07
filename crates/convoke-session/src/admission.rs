//! The owner's side of an attempt, from its admission to its one settlement.

use std::{fmt, sync::Arc};

use convoke_core::{AgentId, ErrorCode, TaskError, TaskId, TaskReport, TaskStatus};

use crate::{
    LateWriteHook, Session, SessionHandle, SettleError, SettleProblem, StoreError,
    attempt::{AttemptKey, Worker},
    machine::{Machine, Opened, Publication, Recorded},
    session::in_log,
};

/// An attempt that was admitted: whoever owns this decides how it ends.
///
/// Dropped before it was [settled](Self::settle), it ends the attempt as [`Failed`](TaskStatus::Failed) with
/// [`execution_failed`](ErrorCode::ExecutionFailed), so that the id is never stuck; where it had not started to go on
/// from a pause, it puts the pause back.
///
/// ```
/// use convoke_core::{AgentId, ErrorCode, Message, SessionId, TaskId, TaskReport, TaskStatus};
/// use convoke_session::{Attempt, LateWriteHook, Session};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::new(SessionId::new("release-7")?);
/// let task = TaskId::new("notes")?;
///
/// drop(session.admit(Attempt::new(task.clone()))?);
/// let mut admission = session.admit(Attempt::new(task.clone()))?;
/// assert_eq!(admission.attempt(), 2);
/// let previous = admission.previous().and_then(|report| report.error.clone());
/// assert_eq!(previous.map(|error| error.code()), Some(ErrorCode::ExecutionFailed));
///
/// admission.start(&AgentId::new("writer")?, LateWriteHook::none());
/// let report = TaskReport::new(task.clone(), session.id().clone(), TaskStatus::Completed);
/// assert_eq!(admission.settle(report)?.attempt, 2);
/// assert!(session.admit(Attempt::new(task)).is_err());
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping an admission ends its attempt as failed"]
pub struct Admission {
    session: Session,
    key: AttemptKey,
    previous: Option<Arc<TaskReport>>,
    required_agent: Option<AgentId>,
    is_reconciled: bool,
    /// Who has the attempt, since it started.
    worker: Option<Worker>,
    is_settled: bool,
}

impl Admission {
    pub(crate) fn new(session: Session, task: TaskId, opened: Opened) -> Self {
        let Opened { attempt, previous, required_agent, is_reconciled } = opened;
        let key = AttemptKey { task, attempt };
        Self { session, key, previous, required_agent, is_reconciled, worker: None, is_settled: false }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        &self.key.task
    }

    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.key.attempt
    }

    /// The last report of the task, of an earlier attempt.
    pub fn previous(&self) -> Option<Arc<TaskReport>> {
        self.previous.clone()
    }

    /// The agent that must have this attempt, because it answers the pause of that agent. The session does not dispatch:
    /// who does must see to it.
    pub fn required_agent(&self) -> Option<AgentId> {
        self.required_agent.clone()
    }

    /// Whether it was admitted because the request decided to [retry](crate::Reconcile::Retry) a task that had timed out
    /// or had a late report.
    pub fn is_reconciled(&self) -> bool {
        self.is_reconciled
    }

    /// Begins the work: status working and the input messages, in one commit. `late` is told of what the executor
    /// writes too late.
    ///
    /// Started again, it gives another handle for whoever has the attempt and changes nothing; once settled, a handle
    /// that is revoked.
    pub fn start(&mut self, agent: &AgentId, late: LateWriteHook) -> SessionHandle {
        self.start_as(|| Worker::Agent(agent.clone()), late).0
    }

    /// Begins work that no agent has: that of the team itself, which it hands on as tasks of their own.
    ///
    /// Its record and its handle name no agent, and what it writes is the [team's](crate::Author::Team). The input is
    /// not published, and its room is given back; ask for the attempt with [`Attempt::coordinated`](crate::Attempt::coordinated), which needs none.
    /// Otherwise as [`start`](Self::start).
    ///
    /// ```
    /// use convoke_core::{Message, SessionId, TaskId, TaskReport, TaskRequest, TaskStatus};
    /// use convoke_session::{Attempt, Author, LateWriteHook, Session};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::new(SessionId::new("release-7")?);
    /// let task = TaskId::new("vote")?;
    /// let request = TaskRequest::new("Is it ready?");
    /// let mut admission = session.admit(Attempt::coordinated(task.clone(), &request))?;
    /// let handle = admission.start_coordinated(LateWriteHook::none());
    /// handle.post(Message::agent("two of three say yes"))?;
    /// admission.settle(TaskReport::new(task, session.id().clone(), TaskStatus::Completed))?;
    ///
    /// let snapshot = session.snapshot();
    /// let authors: Vec<_> = snapshot.messages().map(|message| &message.author).collect();
    /// assert_eq!(authors, [&Author::Team]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn start_coordinated(&mut self, late: LateWriteHook) -> SessionHandle {
        self.start_as(|| Worker::Team, late).0
    }

    /// As [`start`](Self::start), or as [`start_coordinated`](Self::start_coordinated) without an agent, and waits until it is
    /// in the log, where the session has one. The plain forms return before that.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: nothing was started, and the attempt has ended as failed.
    pub async fn start_recorded(
        &mut self,
        agent: Option<&AgentId>,
        late: LateWriteHook,
    ) -> Result<SessionHandle, StoreError> {
        self.session.sure().await?;
        let (handle, started, recorded) = self.start_as(|| agent.cloned().into(), late);
        started?;
        in_log(recorded, &self.session).await?;
        Ok(handle)
    }

    fn start_as(
        &mut self,
        worker: impl FnOnce() -> Worker,
        late: LateWriteHook,
    ) -> (SessionHandle, Result<(), StoreError>, Option<Recorded>) {
        let worker = self.worker.get_or_insert_with(worker);
        let (started, recorded) = self.session.decide(|machine| machine.start(&self.key, worker));
        let handle = SessionHandle::new(self.session.clone(), self.key.clone(), worker.clone(), late);
        (handle, started, recorded)
    }

    /// Ends the attempt in one commit, and gives the report as it is kept.
    ///
    /// Completed and input required publish, in this order, what the executor staged, its answer (an empty text without
    /// data leaves none), its further messages, and all artifacts. Any other status drops what was staged and keeps the
    /// output in the report alone. In the same step the handles are revoked. The report's task, session, attempt and
    /// agent are the session's own, and only an attempt that started can be detached. Where a report says
    /// [detached](TaskReport::detached), the id is not admitted again until
    /// [`Session::detached_ended`].
    ///
    /// An attempt that was to go on from a pause and has not started puts the pause back instead of its own status.
    ///
    /// # Errors
    ///
    /// [`SettleError`] gives the report back. Nothing was written, and the attempt is still open for another report.
    pub fn settle(&mut self, report: TaskReport) -> Result<Arc<TaskReport>, SettleError> {
        self.settle_as(report).0
    }

    /// As [`settle`](Self::settle), and waits until it is in the log, where the session has one. The plain form returns
    /// before that: where the log fails then, the record says what it would say here.
    ///
    /// # Cancel safety
    ///
    /// Dropped after its first poll, it has ended the attempt as the plain form does.
    ///
    /// # Errors
    ///
    /// [`SettleError`] gives the report back. With [`SettleProblem::Store`](crate::SettleProblem::Store) the attempt has
    /// ended, and the log decides how; with any other nothing was written, and it is still open.
    pub async fn settle_recorded(&mut self, report: TaskReport) -> Result<Arc<TaskReport>, SettleError> {
        // Where it is not known what is in the log, the end waits for that with the others.
        _ = self.session.sure().await;
        let (settled, recorded) = self.settle_as(report);
        let report = settled?;
        match in_log(recorded, &self.session).await {
            Ok(()) => Ok(report),
            Err(problem) => {
                let AttemptKey { task, attempt } = self.key.clone();
                let problem = SettleProblem::Store { task, attempt, problem };
                Err(SettleError::new(problem, Arc::unwrap_or_clone(report)))
            }
        }
    }

    fn settle_as(
        &mut self,
        mut report: TaskReport,
    ) -> (Result<Arc<TaskReport>, SettleError>, Option<Recorded>) {
        report.task = self.key.task.clone();
        report.session = self.session.id().clone();
        report.attempt = self.key.attempt;
        report.agent = self.worker.as_ref().and_then(Worker::agent).cloned();
        report.detached &= self.worker.is_some();
        let report = Arc::new(report);

        let publication = (!report.is_too_deep()).then(|| Publication::of(&report));
        let settle = |machine: &mut Machine| machine.settle(&self.key, &report, publication);
        let (result, recorded) = self.session.decide(settle);
        self.is_settled |= matches!(result, Ok(()) | Err(SettleProblem::Store { .. }));
        let settled = match result {
            Ok(()) => Ok(report),
            Err(problem) => Err(SettleError::new(problem, Arc::unwrap_or_clone(report))),
        };
        (settled, recorded)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let AttemptKey { task, attempt } = &self.key;
        let mut report = TaskReport::new(task.clone(), self.session.id().clone(), TaskStatus::Failed);
        report.error = Some(TaskError::new(
            ErrorCode::ExecutionFailed,
            format!("attempt {attempt} of task `{task}` was given up before it ended; run the task again"),
        ));
        // A failed attempt publishes nothing, so nothing can refuse it.
        let _ = self.settle(report);
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("session", self.session.id())
            .field("task", &self.key.task)
            .field("attempt", &self.key.attempt)
            .field("worker", &self.worker)
            .field("is_settled", &self.is_settled)
            .finish_non_exhaustive()
    }
}

/// What [`Session::admit_with`] makes of a request.
#[derive(Debug)]
#[must_use = "dropping an admission ends its attempt as failed"]
pub enum Admitted {
    /// It has the next attempt.
    Attempt(Admission),
    /// The task was completed by the same request, and this is its report; nothing was changed.
    Recorded(Arc<TaskReport>),
    /// The late report of the task was accepted, and is its report now.
    Accepted(Arc<TaskReport>),
}
