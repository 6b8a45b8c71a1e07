//! Which logs there are: making them, listing them.

use std::{io, path::Path};

use convoke_core::{JournalError, JournalErrorKind, LogId, Sequence};
use tokio::runtime::Handle;
use uuid::Uuid;

use super::{
    files::Files,
    folder::{Folder, segment_name},
    line::Lock,
    lock::{self, LogState},
    names::{self, Unescaped},
    removal,
    segment::SegmentHeader,
    writer,
};
use crate::refusal;

/// Does on a blocking thread what has to do with the journal as a whole.
pub(super) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    let io = |problem: &'static str| JournalError::of_journal(JournalErrorKind::Io, problem);
    let runtime = Handle::try_current()
        .map_err(|error| io("was used outside a tokio runtime; call it inside one").with_source(error))?;
    match runtime.spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => Err(io("was not reached, as the runtime ended; try again").with_source(error)),
    }
}

impl Folder {
    /// Makes the log. It is made under another name first, so that it is whole once it is there. Blocks.
    pub(super) fn create(&self, files: &dyn Files) -> Result<(), JournalError> {
        let root = self.path.parent().unwrap_or(Path::new("."));
        // No name of a log begins with a dot.
        let unfinished = root.join(format!(".new-{}", Uuid::new_v4().simple()));
        let made = self.make(files, &unfinished).and_then(|()| match files.rename(&unfinished, &self.path) {
            Err(_) if self.is_there(files) => Ok(false),
            Err(error) => Err(error),
            Ok(()) => files.sync_folder(root).map(|()| true),
        });
        if !matches!(made, Ok(true)) {
            // What cannot be removed stays without a name that anybody looks for.
            _ = removal::remove(files, &unfinished);
        }
        match made {
            Ok(true) => Ok(()),
            Ok(false) => Err(refusal::already_exists(&self.log)),
            Err(error) => Err(self.failed("cannot be made", &self.path, error)),
        }
    }

    fn make(&self, files: &dyn Files, path: &Path) -> io::Result<()> {
        self.finish_removal(files)?;
        files.create_folder(path)?;
        files.create_folder(&path.join("signals"))?;
        files.create(&path.join("lock"))?.sync()?;
        let header = SegmentHeader { salt: writer::salt(), first: Sequence::START, log: self.log.clone() };
        let segment = files.create(&path.join(segment_name(Sequence::START)))?;
        segment.write_at(0, &header.encode())?;
        segment.sync()?;
        files.sync_folder(path)
    }

    fn is_there(&self, files: &dyn Files) -> bool {
        files.names(&self.path).is_ok_and(|names| !names.is_empty())
    }

    /// Removes what is left of a log of this id that was deleted.
    fn finish_removal(&self, files: &dyn Files) -> io::Result<()> {
        let path = self.lock();
        let is_deleted = || {
            let slots = files.read(&path).unwrap_or_default();
            lock::latest(&slots).is_some_and(|slot| slot.state == LogState::Deleted)
        };
        if !is_deleted() {
            return Ok(());
        }
        let lock = Lock(files.open(&path)?);
        // Whoever holds the lock of the file that is at this path is the only one who removes it. Where the lock is that of
        // an earlier file, another has removed that one, and what is at the path now is not deleted.
        if lock.0.try_lock()? && is_deleted() { removal::remove(files, &self.path) } else { Ok(()) }
    }
}

/// The logs whose ids begin with `prefix`. Blocks.
pub(super) fn list(files: &dyn Files, root: &Path, prefix: &str) -> Result<Vec<LogId>, JournalError> {
    let names = files.names(root).map_err(|error| {
        let problem = format!("cannot be listed at `{}`; try again", root.display());
        JournalError::of_journal(JournalErrorKind::Io, problem).with_source(error)
    })?;
    let mut logs: Vec<_> = names.into_iter().filter_map(|name| log_at(files, root, &name)).collect();
    logs.retain(|log| log.as_str().starts_with(prefix) && Folder::new(root, log).check_exists(files).is_ok());
    logs.sort();
    Ok(logs)
}

/// What is in the folder is a log's where its name, or else a segment in it, says so.
fn log_at(files: &dyn Files, root: &Path, name: &str) -> Option<LogId> {
    match names::unescape(name) {
        Unescaped::Id(id) => LogId::new(id).ok(),
        Unescaped::Foreign => None,
        Unescaped::Cut => {
            let folder = root.join(name);
            let segments = files.names(&folder).ok()?.into_iter().filter(|name| name.starts_with("segment-"));
            let newest = segments.max()?;
            let (header, _) = SegmentHeader::decode(&files.read(&folder.join(newest)).ok()?)?;
            (names::escape(header.log.as_str()) == name).then_some(header.log)
        }
    }
}
