//! The executor's side of a session.

use std::{fmt, sync::Arc};

use serde_json::Value;

use convoke_core::{AgentId, Artifact, Message, MessageId, SessionId, TaskId};

use crate::{
    Expected, LateWrite, LateWriteHook, LateWriteKind, Session, SessionError, SessionSnapshot, StateEntry,
    attempt::{AttemptKey, Worker},
    machine::{Machine, When, Writer},
};

/// What an executor holds of a session: it reads everything, and writes as its agent as long as its attempt runs. That of a
/// [coordinated](crate::Admission::start_coordinated) attempt has no agent, and writes as the team.
///
/// [Messages](Self::post) and [artifacts](Self::publish) are staged: readers see them when the attempt completes or
/// pauses, together with its output, and never if it ends in any other way. The shared state is written at once, as on
/// [`Session`], and survives a failure.
///
/// When its attempt ends, the handle is revoked: each later write is [`SessionError::Revoked`], and the host is told by
/// the [`LateWriteHook`]. A clone is the same handle.
///
/// ```
/// use convoke_core::{AgentId, Artifact, Message, SessionId, TaskId, TaskReport, TaskStatus};
/// use convoke_session::{Attempt, LateWriteHook, Session, SessionError};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Session::new(SessionId::new("release-7")?);
/// # let task = TaskId::new("notes")?;
/// # let mut admission = session.admit(Attempt::new(task.clone()))?;
/// let handle = admission.start(&AgentId::new("writer")?, LateWriteHook::none());
/// handle.set("progress", json!(0.5)).await?;
/// handle.post(Message::agent("half of it is written"))?;
/// handle.publish(Artifact::text("draft", "# Release 7")?)?;
/// assert_eq!(session.get("progress").map(|entry| entry.value), Some(json!(0.5)));
/// assert_eq!(session.snapshot().messages().len(), 0);
///
/// admission.settle(TaskReport::new(task, session.id().clone(), TaskStatus::Completed))?;
/// assert_eq!(session.snapshot().messages().len(), 1);
/// assert!(matches!(handle.post(Message::agent("one more")), Err(SessionError::Revoked { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SessionHandle {
    session: Session,
    key: AttemptKey,
    worker: Worker,
    late: LateWriteHook,
}

impl SessionHandle {
    pub(crate) fn new(session: Session, key: AttemptKey, worker: Worker, late: LateWriteHook) -> Self {
        Self { session, key, worker, late }
    }

    /// The session.
    pub fn session_id(&self) -> &SessionId {
        self.session.id()
    }

    /// The task that it belongs to.
    pub fn task(&self) -> &TaskId {
        &self.key.task
    }

    /// The attempt that it belongs to.
    pub fn attempt(&self) -> u32 {
        self.key.attempt
    }

    /// The agent that it writes as; `None` where it writes as the team.
    pub fn agent(&self) -> Option<&AgentId> {
        self.worker.agent()
    }

    /// Whether the attempt has ended, so that a write would be refused.
    pub fn is_revoked(&self) -> bool {
        !self.session.machine().is_working(&self.key)
    }

    /// This moment of the session, as a value. What is only staged is not in it.
    pub fn snapshot(&self) -> SessionSnapshot {
        self.session.snapshot()
    }

    /// The value of a key of the shared state.
    pub fn get(&self, key: &str) -> Option<StateEntry> {
        self.session.get(key)
    }

    /// Stages a message, and gives the id that it will have. It stands before the attempt's answer, in the order of
    /// these calls; its room is set aside.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], [`SessionError::TooLarge`], [`SessionError::TooDeep`], [`SessionError::Full`].
    pub fn post(&self, message: Message) -> Result<MessageId, SessionError> {
        self.stage(LateWriteKind::Message, |machine| machine.stage_message(&self.key, message))
    }

    /// Stages an artifact; its room is set aside. It will replace the one that an earlier attempt of this task published
    /// under its id.
    ///
    /// An id that is given twice in one attempt, here or in its output, makes the settlement a contract violation.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], [`SessionError::TooLarge`], [`SessionError::TooDeep`], [`SessionError::Full`].
    pub fn publish(&self, artifact: Artifact) -> Result<(), SessionError> {
        self.stage(LateWriteKind::Artifact, |machine| machine.stage_artifact(&self.key, artifact))
    }

    /// As [`Session::set`], while the attempt runs.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], and those of [`Session::set`].
    pub fn set(
        &self,
        key: &str,
        value: Value,
    ) -> impl Future<Output = Result<u64, SessionError>> + Send + use<> {
        let (handle, key) = (self.clone(), Arc::from(key));
        async move { Ok(handle.set_when(key, When::Always, value).await?.revision) }
    }

    /// As [`Session::erase`], while the attempt runs.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], and those of [`Session::erase`].
    pub fn erase(&self, key: &str) -> impl Future<Output = Result<bool, SessionError>> + Send + use<> {
        let (handle, key) = (self.clone(), key.to_owned());
        async move {
            let writer = Writer::Attempt(&handle.key);
            handle
                .told(LateWriteKind::State, handle.session.write(|machine| machine.erase(writer, &key)).await)
        }
    }

    /// As [`Session::compare_and_set`], while the attempt runs.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], and those of [`Session::compare_and_set`].
    pub fn compare_and_set(
        &self,
        key: &str,
        expected: Expected,
        value: Value,
    ) -> impl Future<Output = Result<u64, SessionError>> + Send + use<> {
        let (handle, key) = (self.clone(), Arc::from(key));
        async move { Ok(handle.set_when(key, When::Found(expected), value).await?.revision) }
    }

    /// As [`Session::update`], while the attempt runs.
    ///
    /// # Errors
    ///
    /// [`SessionError::Revoked`], and those of [`Session::update`].
    pub fn update<F>(
        &self,
        key: &str,
        change: F,
    ) -> impl Future<Output = Result<StateEntry, SessionError>> + Send + use<F>
    where
        F: FnMut(Option<&Value>) -> Value + Send,
    {
        let (handle, key) = (self.clone(), Arc::<str>::from(key));
        async move {
            let write = |when, value| handle.set_when(Arc::clone(&key), when, value);
            handle.session.update_by(&key, change, write).await
        }
    }

    async fn set_when(
        &self,
        key: Arc<str>,
        when: When,
        value: Value,
    ) -> Result<Arc<StateEntry>, SessionError> {
        let writer = Writer::Attempt(&self.key);
        let set = |machine: &mut Machine| machine.set(writer, key, when, value);
        self.told(LateWriteKind::State, self.session.write(set).await)
    }

    fn stage<T>(
        &self,
        kind: LateWriteKind,
        stage: impl FnOnce(&mut Machine) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let result = stage(&mut self.session.machine());
        self.told(kind, result)
    }

    /// The hook is called once the lock is free again, so that it may use the session.
    fn told<T>(&self, kind: LateWriteKind, result: Result<T, SessionError>) -> Result<T, SessionError> {
        if matches!(result, Err(SessionError::Revoked { .. })) {
            self.late.call(&LateWrite {
                session: self.session_id().clone(),
                task: self.task().clone(),
                attempt: self.attempt(),
                agent: self.agent().cloned(),
                kind,
            });
        }
        result
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHandle")
            .field("session", self.session_id())
            .field("task", self.task())
            .field("attempt", &self.attempt())
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}
