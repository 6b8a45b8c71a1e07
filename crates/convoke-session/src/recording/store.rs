//! Where sessions with a log come from.

use std::time::Duration;

use convoke_core::{
    AnyJournal, Claim, Journal, JournalError, JournalErrorKind, LogId, OwnerId, ReadFrom, SessionId,
};

use super::Recorder;
use crate::{Session, SessionLimits, StoreError, codec, machine::Machine};

/// How long a claim lasts without being renewed, where claims end by time.
const CLAIM_TTL: Duration = Duration::from_secs(30);

/// The sessions of a journal, for one owner. Cloning shares it.
///
/// Each session is a log of its own, named `session/<id>`, and has one owner at a time. What is written to it is appended
/// first and visible then; see [`Session`].
///
/// ```
/// use convoke_core::{AnyJournal, Message, OwnerId, SessionId};
/// use convoke_journal::MemoryJournal;
/// use convoke_session::{SessionLimits, SessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = AnyJournal::new(MemoryJournal::new());
/// let store = SessionStore::new(journal, OwnerId::new("host-1")?);
/// let id = SessionId::new("release-7")?;
///
/// let (session, recorder) = store.open(&id, SessionLimits::default()).await?;
/// let recorder = tokio::spawn(recorder.run(std::future::pending));
/// session.post(Message::user("the freeze is on Friday")).await?;
/// drop(session);
/// recorder.await?;
///
/// let (session, _recorder) = store.open(&id, SessionLimits::default()).await?;
/// assert_eq!(session.snapshot().messages().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SessionStore {
    journal: AnyJournal,
    owner: OwnerId,
    ttl: Duration,
}

impl SessionStore {
    /// The sessions of a journal, claimed as `owner`. An owner is one process or one runtime: two that use one name take
    /// the sessions from each other.
    pub fn new(journal: AnyJournal, owner: OwnerId) -> Self {
        Self { journal, owner, ttl: CLAIM_TTL }
    }

    /// How long a claim lasts without being renewed, where claims end by time. 30 s unless set.
    #[must_use]
    pub fn with_claim_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long a claim lasts without being renewed; `None` where claims do not end by time.
    pub fn claim_ttl(&self) -> Option<Duration> {
        self.journal.capabilities().ttl_claims.then_some(self.ttl)
    }

    /// The session of this id as its log has it, an empty one where there is no log, and what [records](Recorder::run)
    /// what is written to it: nothing is written before that runs.
    ///
    /// The claim says that nobody else works in it. So what is active in it was under way in a process that has ended: it
    /// becomes failed with [`interrupted`](convoke_core::ErrorCode::Interrupted), a pause that was about to go on is a
    /// pause again, and nothing is detached any more. This is in the log when the session is given.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may leave the log claimed by this owner, who can open it again, and empty.
    ///
    /// # Errors
    ///
    /// [`Claimed`](crate::StoreErrorKind::Claimed) while another owner lives, and every other [`StoreError`].
    pub async fn open(
        &self,
        id: &SessionId,
        limits: SessionLimits,
    ) -> Result<(Session, Recorder), StoreError> {
        let log = LogId::of_session(id);
        let claim = self.claim(&log).await.map_err(|error| StoreError::of_journal(id, &error))?;
        let opened = self.load(id, log.clone(), claim, limits).await;
        if opened.is_err() {
            self.journal.abandon(&log, claim.token);
        }
        opened
    }

    /// Removes the log of a session, for good. Whoever has the session here finds that it is no longer theirs. Nothing where
    /// there is no log.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have removed the log, or leave it claimed by this owner; the same call again does the rest.
    ///
    /// # Errors
    ///
    /// [`Claimed`](crate::StoreErrorKind::Claimed) while another owner lives, and every other [`StoreError`]; after
    /// [`Failed`](crate::StoreErrorKind::Failed) the log may be gone.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let log = LogId::of_session(id);
        let deleted = match self.journal.claim(&log, &self.owner, self.ttl).await {
            Err(error) if error.kind() == JournalErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(claim) => {
                let deleted = self.journal.delete(&log, claim.token).await;
                if deleted.is_err() {
                    self.journal.abandon(&log, claim.token);
                }
                deleted
            }
        };
        deleted.map_err(|error| StoreError::of_journal(id, &error))
    }

    async fn load(
        &self,
        id: &SessionId,
        log: LogId,
        claim: Claim,
        limits: SessionLimits,
    ) -> Result<(Session, Recorder), StoreError> {
        let contents = self.journal.read(&log, ReadFrom::Latest).await;
        let contents = contents.map_err(|error| StoreError::of_journal(id, &error))?;
        let machine = Machine::loaded(codec::decode(id, &contents)?, limits);
        let (session, keeper) = Session::recorded_by(id.clone(), machine);
        let mut recorder = Recorder {
            session: id.clone(),
            recorded: session.downgrade(),
            keeper,
            journal: self.journal.clone(),
            owner: self.owner.clone(),
            ttl: self.ttl,
            log,
            token: claim.token,
            next: contents.next,
            is_recovering: false,
            is_too_large: false,
        };
        recorder.begin(&session).await?;
        Ok((session, recorder))
    }

    /// Claims a log, which is made where there is none.
    async fn claim(&self, log: &LogId) -> Result<Claim, JournalError> {
        match self.journal.claim(log, &self.owner, self.ttl).await {
            Err(error) if error.kind() == JournalErrorKind::NotFound => {}
            claimed => return claimed,
        }
        match self.journal.create(log).await {
            Err(error) if error.kind() != JournalErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.journal.claim(log, &self.owner, self.ttl).await
    }
}
