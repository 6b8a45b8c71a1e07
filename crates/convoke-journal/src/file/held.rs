//! A log that this journal holds the claim of.

use std::{collections::HashSet, io, sync::Arc};

use convoke_core::{
    Claim, Commit, Committed, FencingToken, JournalError, JournalErrorKind, OwnerId, Snapshot,
};
use parking_lot::{Condvar, Mutex};
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use super::{
    files::Files,
    folder::Folder,
    frame,
    line::{Closed, Failure, Line, Lock},
    lock::{self, LogState, Slot},
    segment::Damage,
    writer::{Settings, Writer},
};
use crate::refusal;

/// One claim, from its beginning to its end.
pub(super) struct Held {
    pub(super) folder: Folder,
    pub(super) owner: OwnerId,
    pub(super) token: FencingToken,
    pub(super) files: Arc<dyn Files>,
    pub(super) line: Mutex<Line>,
    /// The last one that a frame waits for has come, or one that does not wait.
    pub(super) arrived: Condvar,
    /// Held by whoever serves the line.
    writer: Mutex<Writer>,
    /// A signal came through this journal, or the claim ended.
    pub(super) stirred: Notify,
    /// The names of the signals that this claim was told of.
    pub(super) told: Mutex<HashSet<String>>,
}

impl Held {
    /// Claims a log. Blocks. `lock` is given where this process holds it already.
    pub(super) fn open(
        files: Arc<dyn Files>,
        folder: Folder,
        owner: OwnerId,
        lock: Option<Lock>,
        settings: Settings,
    ) -> Result<Self, JournalError> {
        let path = folder.lock();
        let lock = match lock {
            Some(lock) => lock,
            None => Self::lock(&*files, &folder)?,
        };
        let slots = lock.0.read().map_err(|error| folder.failed("cannot be read", &path, error))?;
        // Whoever deleted the log held this lock until it had said so.
        folder.check_not_deleted(&slots)?;
        let found = folder.find(&*files, settings.compact_at_least)?;
        let last = lock::latest(&slots).map_or(found.token, |slot| slot.token.max(found.token));
        let token = last.next();
        if token == last {
            // Nobody was ever given it, and whoever were given it twice would not be told apart.
            return Err(folder.damaged(&path, &Damage::new(0, "has a claim behind which no token is left")));
        }
        lock::write(&*lock.0, &Slot { token, state: LogState::Claimed(owner.clone()) })
            .map_err(|error| folder.failed("cannot be claimed", &path, error))?;
        let writer = Writer::new(found.live, token, lock, settings, found.unsure_taken.clone());
        let line = Line::new(folder.log.clone(), found.tail, found.growth, found.unsure_taken);
        Ok(Self {
            folder,
            owner,
            token,
            files,
            line: Mutex::new(line),
            arrived: Condvar::new(),
            writer: Mutex::new(writer),
            stirred: Notify::new(),
            told: Mutex::default(),
        })
    }

    fn lock(files: &dyn Files, folder: &Folder) -> Result<Lock, JournalError> {
        let path = folder.lock();
        let file = Lock(files.open(&path).map_err(|error| folder.unreadable(&path, error))?);
        if file.0.try_lock().map_err(|error| folder.failed("cannot be locked", &path, error))? {
            return Ok(file);
        }
        // Where others cannot read a locked file, nobody is named.
        let slot = files.read(&path).ok().and_then(|slots| lock::latest(&slots));
        match slot.map(|slot| slot.state) {
            Some(LogState::Deleted) => Err(JournalError::not_found(&folder.log)),
            Some(LogState::Claimed(owner)) => Err(refusal::claimed(&folder.log, Some(&owner))),
            None => Err(refusal::claimed(&folder.log, None)),
        }
    }

    pub(super) fn claim(&self) -> Claim {
        Claim::new(self.token, self.line.lock().next())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.line.lock().is_closed()
    }

    pub(super) fn fenced(&self) -> JournalError {
        refusal::fenced(&self.folder.log, self.token)
    }

    pub(super) async fn append(self: &Arc<Self>, commit: Commit) -> Result<Committed, JournalError> {
        let bytes = frame::encode_commit(&commit);
        let placed = self.in_line(|line| line.append(commit, bytes))?;
        if let Some(answer) = placed.answer {
            self.answered(answer).await?;
        }
        Ok(placed.committed)
    }

    pub(super) async fn compact(self: &Arc<Self>, snapshot: Snapshot) -> Result<(), JournalError> {
        let answer = self.in_line(|line| line.compact(self.token, snapshot))?;
        self.answered(answer).await
    }

    pub(super) async fn flush(self: &Arc<Self>) -> Result<(), JournalError> {
        let answer = self.in_line(|line| line.flush(self.token))?;
        self.answered(answer).await
    }

    /// Waits until what was answered before is in the file.
    pub(super) async fn written(self: &Arc<Self>) -> Result<(), JournalError> {
        let answer = self.in_line(|line| Ok((!line.is_idle()).then(|| line.write())))?;
        if let Some(answer) = answer {
            // Where it failed, what can be read is what is in the file.
            _ = answer.await;
        }
        Ok(())
    }

    /// Makes all durable that can be, and ends the claim.
    pub(super) async fn close(self: &Arc<Self>) -> Result<Closed, JournalError> {
        let answer = self.in_line(|line| line.close().ok_or_else(|| self.fenced()))?;
        self.stirred.notify_waiters();
        Ok(answer.await.unwrap_or_else(|_| Closed { lock: None, failure: Some(runtime_ended()) }))
    }

    /// Removes the log, and ends the claim.
    pub(super) async fn delete(self: &Arc<Self>) -> Result<(), JournalError> {
        let answer = self.in_line(|line| line.delete().ok_or_else(|| self.fenced()))?;
        self.stirred.notify_waiters();
        self.answered(answer).await
    }

    /// Ends the claim without waiting: what is in line is written all the same. The answer comes once it has ended.
    pub(super) fn abandon(self: &Arc<Self>) -> Option<oneshot::Receiver<()>> {
        let ended = self.in_line(|line| line.abandon().ok_or_else(|| self.fenced()));
        self.stirred.notify_waiters();
        match ended {
            Ok(ended) => Some(ended),
            Err(error) if error.kind() == JournalErrorKind::Io => {
                // Outside a runtime nobody can serve the line; whoever serves it now ends the claim when it is done.
                let mut line = self.line.lock();
                let ended = line.abandon();
                if !line.is_served {
                    self.writer.lock().unlock();
                    return None;
                }
                ended
            }
            Err(_) => None,
        }
    }

    /// Puts something in line, and sees to it that somebody is at work there.
    fn in_line<T>(
        self: &Arc<Self>,
        put: impl FnOnce(&mut Line) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let runtime = runtime(&self.folder)?;
        let mut line = self.line.lock();
        let put = put(&mut line)?;
        if line.is_served {
            // Not before all are there: to wake for each costs more than a sync.
            if line.window().is_none() {
                self.arrived.notify_all();
            }
        } else if !line.is_idle() {
            line.is_served = true;
            drop(line);
            let service = Service { held: Arc::clone(self), has_ended: false };
            // Not kept: it ends when the line is empty, and who waits in line hears of it by its answer.
            runtime.spawn_blocking(move || service.run());
        }
        Ok(put)
    }

    async fn answered<T>(&self, answer: oneshot::Receiver<Result<T, Failure>>) -> Result<T, JournalError> {
        let answer = answer.await.unwrap_or_else(|_| Err(runtime_ended()));
        answer.map_err(|failure| failure.into_error(&self.folder.log, self.token))
    }
}

/// The runtime on which blocking work is done.
pub(super) fn runtime(folder: &Folder) -> Result<Handle, JournalError> {
    Handle::try_current().map_err(|error| {
        let problem = "was used outside a tokio runtime; call it inside one";
        JournalError::new(JournalErrorKind::Io, &folder.log, problem).with_source(error)
    })
}

fn runtime_ended() -> Failure {
    Failure(Arc::new(io::Error::other("the runtime ended before the write")))
}

/// Work on a line, until it is empty.
struct Service {
    held: Arc<Held>,
    has_ended: bool,
}

impl Service {
    fn run(mut self) {
        let mut writer = self.held.writer.lock();
        while writer.step(&self.held) {}
        drop(writer);
        self.has_ended = true;
    }
}

/// Also where a runtime that shuts down never began it, and where a file system panics.
impl Drop for Service {
    fn drop(&mut self) {
        if !self.has_ended {
            self.held.line.lock().give_up(&runtime_ended());
        }
    }
}
