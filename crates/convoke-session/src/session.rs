//! The session: one lock around the machine, which is the order of everything.

mod recorded;
mod tasks;

use std::{fmt, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
pub(crate) use recorded::{WeakSession, in_log};
use serde_json::Value;

use convoke_core::{Message, MessageId, SessionId};

use crate::{
    Expected, SessionActivity, SessionError, SessionLimits, SessionSnapshot, StateEntry,
    machine::{Machine, When, Writer},
    recording::KeeperHandle,
};

/// What a team shares. A clone is the same session.
///
/// All that is written enters through one queue, which is the order of everything: of messages, of commits, of the end
/// of an attempt and what comes too late for it. Reads take a [`snapshot`](Self::snapshot).
///
/// # Writes
///
/// A write returns a future and is visible to every reader when that resolves. The future does its work when it is first
/// polled; dropped before, it does nothing.
///
/// Where the session has a [log](crate::SessionStore), a write is decided at the first poll, appended, and visible then:
/// what readers see is always in the log. Decisions see what was decided before them, in the log or not. Where an append
/// fails, nothing of it becomes visible, and nothing that was decided since; each of these writes gives
/// [`SessionError::Store`]. Whether it happened all the same the log says before the next write is decided.
///
/// ```
/// use convoke_core::{Message, SessionId};
/// use convoke_session::{Expected, Session};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::new(SessionId::new("release-7")?);
/// session.post(Message::user("the freeze is on Friday")).await?;
///
/// let revision = session.set("tests", json!({ "passed": 40 })).await?;
/// session.compare_and_set("tests", Expected::Revision(revision), json!({ "passed": 41 })).await?;
/// session.compare_and_set("tests", Expected::Revision(revision), json!(0)).await.unwrap_err();
///
/// let count = |value: Option<&serde_json::Value>| json!(value.and_then(|value| value.as_u64()).unwrap_or(0) + 1);
/// assert_eq!(session.update("builds", count).await?.value, 1);
/// assert_eq!(session.get("builds").map(|entry| entry.value), Some(json!(1)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: SessionId,
    machine: Mutex<Machine>,
    /// Of a session with a log.
    keeper: Option<KeeperHandle>,
}

impl Session {
    /// An empty session with the default limits.
    pub fn new(id: SessionId) -> Self {
        Self::with_limits(id, SessionLimits::default())
    }

    /// An empty session.
    pub fn with_limits(id: SessionId, limits: SessionLimits) -> Self {
        Self(Arc::new(Inner { id: id.clone(), machine: Mutex::new(Machine::new(id, limits)), keeper: None }))
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// How much it takes.
    pub fn limits(&self) -> SessionLimits {
        self.machine().limits()
    }

    /// This moment, as a value; in constant time and memory.
    pub fn snapshot(&self) -> SessionSnapshot {
        SessionSnapshot::new(self.machine().snapshot())
    }

    /// What goes on in it.
    pub fn activity(&self) -> SessionActivity {
        self.machine().activity()
    }

    /// Whether no task is active, paused, detached or late, and nothing is on its way to the log.
    pub fn is_idle(&self) -> bool {
        self.machine().is_idle()
    }

    /// Adds a message of the host, and gives its id.
    ///
    /// # Errors
    ///
    /// [`SessionError::Full`], [`SessionError::TooLarge`], [`SessionError::TooDeep`].
    pub fn post(
        &self,
        message: Message,
    ) -> impl Future<Output = Result<MessageId, SessionError>> + Send + use<> {
        let session = self.clone();
        async move { session.write(|machine| machine.post(message)).await }
    }

    /// Removes the oldest messages until `keep` are left, and gives the number that it removed.
    ///
    /// Messages of one [call](Message::call) go or stay together: one that shares its call with a message that stays,
    /// or with one that an open attempt or a late report has yet to publish, stays too, above `keep`.
    ///
    /// # Errors
    ///
    /// [`SessionError::Store`], as for every write of a session with a log.
    pub fn trim(&self, keep: usize) -> impl Future<Output = Result<usize, SessionError>> + Send + use<> {
        let session = self.clone();
        async move { session.write(|machine| machine.trim(keep)).await }
    }

    /// Attaches a value to the session, in place of what the key had. Metadata counts toward no limit.
    ///
    /// # Errors
    ///
    /// [`SessionError::EmptyKey`], [`SessionError::TooDeep`].
    pub fn set_metadata(
        &self,
        key: &str,
        value: Value,
    ) -> impl Future<Output = Result<(), SessionError>> + Send + use<> {
        let (session, key) = (self.clone(), key.to_owned());
        async move { session.write(|machine| machine.set_metadata(&key, value)).await }
    }

    /// The value of a key of the shared state.
    pub fn get(&self, key: &str) -> Option<StateEntry> {
        self.snapshot().state(key).cloned()
    }

    /// Writes a key of the shared state, whatever it holds, and gives the entry's revision.
    ///
    /// # Errors
    ///
    /// [`SessionError::EmptyKey`], [`SessionError::TooLarge`], [`SessionError::TooDeep`], [`SessionError::Full`].
    pub fn set(
        &self,
        key: &str,
        value: Value,
    ) -> impl Future<Output = Result<u64, SessionError>> + Send + use<> {
        let (session, key) = (self.clone(), Arc::from(key));
        async move {
            let set = |machine: &mut Machine| machine.set(Writer::Host, key, When::Always, value);
            Ok(session.write(set).await?.revision)
        }
    }

    /// Removes a key of the shared state, and says whether it was there.
    ///
    /// # Errors
    ///
    /// [`SessionError::EmptyKey`].
    pub fn erase(&self, key: &str) -> impl Future<Output = Result<bool, SessionError>> + Send + use<> {
        let (session, key) = (self.clone(), key.to_owned());
        async move { session.write(|machine| machine.erase(Writer::Host, &key)).await }
    }

    /// Writes a key of the shared state if it holds what is expected, and gives the entry's revision.
    ///
    /// # Errors
    ///
    /// [`SessionError::Conflict`] says what it holds instead; else as [`set`](Self::set).
    pub fn compare_and_set(
        &self,
        key: &str,
        expected: Expected,
        value: Value,
    ) -> impl Future<Output = Result<u64, SessionError>> + Send + use<> {
        let (session, key) = (self.clone(), Arc::from(key));
        async move {
            let set = |machine: &mut Machine| machine.set(Writer::Host, key, When::Found(expected), value);
            Ok(session.write(set).await?.revision)
        }
    }

    /// Makes a key's next value from its present one, and gives the new entry.
    ///
    /// `change` runs outside the lock, and again for each write that came in between.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn update<F>(
        &self,
        key: &str,
        change: F,
    ) -> impl Future<Output = Result<StateEntry, SessionError>> + Send + use<F>
    where
        F: FnMut(Option<&Value>) -> Value + Send,
    {
        let (session, key) = (self.clone(), Arc::<str>::from(key));
        async move {
            let write = |when, value| {
                let key = Arc::clone(&key);
                session.write(move |machine| machine.set(Writer::Host, key, when, value))
            };
            session.update_by(&key, change, write).await
        }
    }

    /// Reads, changes and writes until nobody wrote in between.
    pub(crate) async fn update_by<W: Future<Output = Result<Arc<StateEntry>, SessionError>> + Send>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<&Value>) -> Value + Send,
        mut write: impl FnMut(When, Value) -> W + Send,
    ) -> Result<StateEntry, SessionError> {
        loop {
            self.sure().await?;
            let (when, value) = {
                // What the next write finds, which readers of a session with a log may not see yet.
                let head = self.machine().head();
                let found = head.shared.get(key).map(Arc::as_ref);
                (When::Found(Expected::of(found)), change(found.map(|entry| &entry.value)))
            };
            match write(when, value).await {
                Ok(entry) => return Ok(StateEntry::clone(&entry)),
                Err(SessionError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// No code of a caller may run while this is held.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.machine.lock()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.0.id).finish_non_exhaustive()
    }
}
