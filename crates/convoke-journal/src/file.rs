//! A journal in files.

mod builder;
mod bytes;
mod cohort;
mod creation;
mod disk;
mod files;
mod folder;
mod frame;
mod held;
mod line;
mod lock;
mod names;
mod removal;
mod segment;
mod signals;
mod snapshot;
mod stored;
mod writer;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

pub use builder::FileJournalBuilder;
use convoke_core::{
    Claim, Commit, Committed, FencingToken, Journal, JournalCapabilities, JournalError, LogContents, LogId,
    OwnerId, ReadFrom, Signal, Snapshot,
};
use parking_lot::Mutex;
use tokio::{sync::oneshot, time};

use self::{files::Files, folder::Folder, held::Held, writer::Settings};
use crate::{REMEMBERED, limits, refusal};

/// How often an owner that waits for signals looks for those of other processes.
const LOOK_FOR_SIGNALS: Duration = Duration::from_secs(1);

/// A journal in a folder of files, one folder inside it for each log. Cloning shares it.
///
/// Claims do not end by time: an owner holds the lock of its log, which the operating system frees when the process ends,
/// however it ends. Nobody else gets the log before that; the `ttl` of a claim says nothing here.
///
/// Dropping the last clone ends what it holds, as [`abandon`](Journal::abandon) does.
///
/// A commit is a frame with checksums, or a part of one that commits which come at the same time share. A strict one has
/// been through `fdatasync` when it is answered. A write that fails poisons its claim: nothing is tried again behind it.
/// [`docs/concepts/journal.md`](https://github.com/convoke-rs/convoke/blob/main/docs/concepts/journal.md) says what is
/// on the disk, and what reading makes of what it finds there.
///
/// It works on local file systems, where locks and `fdatasync` mean what they say; on network file systems that is often
/// not so. It needs a tokio runtime with time, and does all that may block on its blocking threads: a few for each log that is
/// written to at this moment, none for those that are only held. Another process may see a commit before it is
/// durable.
///
/// See the crate's page for an example.
#[derive(Clone)]
pub struct FileJournal(Arc<Inner>);

struct Inner {
    root: PathBuf,
    files: Arc<dyn Files>,
    settings: Settings,
    held: Mutex<HashMap<LogId, Arc<Held>>>,
    /// The ends of claims that nobody has waited for, so that the next claim of the log does.
    ending: Mutex<HashMap<LogId, oneshot::Receiver<()>>>,
}

impl FileJournal {
    /// Opens the journal in `folder`, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// [`Io`](convoke_core::JournalErrorKind::Io) where the folder cannot be made.
    pub async fn open(folder: impl Into<PathBuf>) -> Result<Self, JournalError> {
        Self::builder(folder).open().await
    }

    /// For a journal that is set otherwise than by default.
    pub fn builder(folder: impl Into<PathBuf>) -> FileJournalBuilder {
        FileJournalBuilder::new(folder.into())
    }

    /// The folder in which the logs are.
    pub fn folder(&self) -> &Path {
        &self.0.root
    }

    fn new(root: PathBuf, files: Arc<dyn Files>, settings: Settings) -> Self {
        Self(Arc::new(Inner { root, files, settings, held: Mutex::default(), ending: Mutex::default() }))
    }

    fn folder_of(&self, log: &LogId) -> Folder {
        Folder::new(&self.0.root, log)
    }

    /// The claim of a log, whoever asks.
    fn held(&self, log: &LogId) -> Option<Arc<Held>> {
        self.0.held.lock().get(log).filter(|held| !held.is_closed()).cloned()
    }

    fn owned(&self, log: &LogId, token: FencingToken) -> Result<Arc<Held>, JournalError> {
        self.held(log).filter(|held| held.token == token).ok_or_else(|| refusal::fenced(log, token))
    }

    /// The signals that the claim was not told of, told with that.
    async fn untold(&self, held: &Arc<Held>) -> Result<Vec<Signal>, JournalError> {
        let looked = Arc::clone(held);
        let untold = self.blocking(held.folder.clone(), move |_, _| looked.untold()).await?;
        Ok(held.tell(untold))
    }

    /// Waits for the end of a claim that was abandoned.
    async fn abandoned(&self, log: &LogId) {
        let ending = self.0.ending.lock().remove(log);
        if let Some(ended) = ending {
            // Where the runtime ended before, so did the claim.
            _ = ended.await;
        }
    }

    /// Forgets a claim that has ended.
    fn forget(&self, held: &Arc<Held>) {
        let mut all = self.0.held.lock();
        if all.get(&held.folder.log).is_some_and(|current| Arc::ptr_eq(current, held)) {
            all.remove(&held.folder.log);
        }
    }

    /// Does on a blocking thread what has to do with one log.
    async fn blocking<T: Send + 'static>(
        &self,
        folder: Folder,
        act: impl FnOnce(&Folder, &dyn Files) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let files = Arc::clone(&self.0.files);
        let runtime = held::runtime(&folder)?;
        let kept = folder.clone();
        match runtime.spawn_blocking(move || act(&folder, &*files)).await {
            Ok(done) => done,
            Err(error) => Err(signals::interrupted(&kept, error)),
        }
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal")
            .field("folder", &self.0.root)
            .field("settings", &self.0.settings)
            .field("held", &self.0.held.lock().len())
            .finish()
    }
}

impl Journal for FileJournal {
    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::remembering(REMEMBERED).with_durability()
    }

    async fn create(&self, log: &LogId) -> Result<(), JournalError> {
        self.blocking(self.folder_of(log), Folder::create).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<LogId>, JournalError> {
        let (root, files, prefix) = (self.0.root.clone(), Arc::clone(&self.0.files), prefix.to_owned());
        creation::blocking(move || creation::list(&*files, &root, &prefix)).await
    }

    async fn delete(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        let held = self.owned(log, token)?;
        let done = held.delete().await;
        self.forget(&held);
        done
    }

    async fn claim(&self, log: &LogId, owner: &OwnerId, _ttl: Duration) -> Result<Claim, JournalError> {
        let lock = match self.held(log) {
            Some(held) if held.owner == *owner => {
                let closed = held.close().await;
                self.forget(&held);
                // Its end may have come from elsewhere at this moment; then the lock is taken anew.
                closed.ok().and_then(|closed| closed.lock)
            }
            Some(held) => return Err(refusal::claimed(log, Some(&held.owner))),
            None => None,
        };
        self.abandoned(log).await;
        let (files, owner, settings) = (Arc::clone(&self.0.files), owner.clone(), self.0.settings);
        let held = self
            .blocking(self.folder_of(log), move |folder, _| {
                Held::open(files, folder.clone(), owner, lock, settings)
            })
            .await?;
        let claim = held.claim();
        self.0.held.lock().insert(log.clone(), Arc::new(held));
        Ok(claim)
    }

    async fn renew(&self, log: &LogId, token: FencingToken, _ttl: Duration) -> Result<Claim, JournalError> {
        Ok(self.owned(log, token)?.claim())
    }

    async fn release(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        let held = self.owned(log, token)?;
        let closed = held.close().await;
        self.forget(&held);
        match closed?.failure {
            Some(failure) => Err(failure.into_error(log, token)),
            None => Ok(()),
        }
    }

    fn abandon(&self, log: &LogId, token: FencingToken) {
        // Where the token is no longer the owner's there is nothing to end.
        if let Ok(held) = self.owned(log, token) {
            let ended = held.abandon();
            self.forget(&held);
            if let Some(ended) = ended {
                let mut ending = self.0.ending.lock();
                ending.retain(|_, ended| ended.try_recv() == Err(oneshot::error::TryRecvError::Empty));
                ending.insert(log.clone(), ended);
            }
        }
    }

    async fn append(&self, log: &LogId, commit: Commit) -> Result<Committed, JournalError> {
        limits::check_commit(log, &commit)?;
        self.owned(log, commit.token)?.append(commit).await
    }

    async fn flush(&self, log: &LogId, token: FencingToken) -> Result<(), JournalError> {
        self.owned(log, token)?.flush().await
    }

    async fn compact(
        &self,
        log: &LogId,
        token: FencingToken,
        snapshot: Snapshot,
    ) -> Result<(), JournalError> {
        limits::check_snapshot(log, &snapshot)?;
        self.owned(log, token)?.compact(snapshot).await
    }

    async fn read(&self, log: &LogId, from: ReadFrom) -> Result<LogContents, JournalError> {
        self.abandoned(log).await;
        if let Some(held) = self.held(log) {
            held.written().await?;
        }
        self.blocking(self.folder_of(log), move |folder, files| {
            folder.check_exists(files)?;
            folder.contents(files, from)
        })
        .await
    }

    async fn signal(&self, log: &LogId, signal: Signal) -> Result<(), JournalError> {
        limits::check_signal(log, &signal)?;
        self.blocking(self.folder_of(log), move |folder, files| folder.send(files, &signal)).await?;
        if let Some(held) = self.held(log) {
            held.stirred.notify_waiters();
        }
        Ok(())
    }

    async fn waiting_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        self.untold(&self.owned(log, token)?).await
    }

    async fn next_signals(&self, log: &LogId, token: FencingToken) -> Result<Vec<Signal>, JournalError> {
        let held = self.owned(log, token)?;
        loop {
            let mut stirred = pin!(held.stirred.notified());
            stirred.as_mut().enable();
            if held.is_closed() {
                return Err(held.fenced());
            }
            let signals = self.untold(&held).await?;
            if !signals.is_empty() {
                return Ok(signals);
            }
            // By its end it is time to look anew, whether something stirred or not.
            _ = time::timeout(LOOK_FOR_SIGNALS, stirred).await;
        }
    }
}

#[cfg(test)]
mod tests;
