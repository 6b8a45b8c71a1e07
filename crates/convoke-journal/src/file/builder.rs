//! How a journal in files is set.

use std::{path::PathBuf, sync::Arc};

use convoke_core::{JournalError, JournalErrorKind};

use super::{FileJournal, creation, disk::Disk, files::Files, writer::Settings};
use crate::{COMPACT_AT_LEAST, Retain};

/// Sets a [`FileJournal`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `open`"]
pub struct FileJournalBuilder {
    root: PathBuf,
    settings: Settings,
}

impl FileJournalBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        let settings = Settings { retain: Retain::default(), compact_at_least: COMPACT_AT_LEAST };
        Self { root, settings }
    }

    /// How much of what lies before a snapshot is kept; eight snapshots unless set.
    pub fn retain(mut self, retain: Retain) -> Self {
        self.settings.retain = retain;
        self
    }

    /// How many bytes must lie behind a snapshot before a compaction is due, however small the snapshot is;
    /// [`COMPACT_AT_LEAST`] unless set.
    pub fn compact_at_least(mut self, bytes: u64) -> Self {
        self.settings.compact_at_least = bytes;
        self
    }

    /// Opens the journal.
    ///
    /// # Errors
    ///
    /// [`Io`](JournalErrorKind::Io) where the folder cannot be made.
    pub async fn open(self) -> Result<FileJournal, JournalError> {
        let Self { root, settings } = self;
        let files: Arc<dyn Files> = Arc::new(Disk);
        creation::blocking(move || {
            let made = files.create_folder(&root).and_then(|()| match root.parent() {
                // The folder of the process itself, for a path of one name.
                Some(above) if above.as_os_str().is_empty() => files.sync_folder(".".as_ref()),
                Some(above) => files.sync_folder(above),
                None => Ok(()),
            });
            match made {
                Ok(()) => Ok(FileJournal::new(root, files, settings)),
                Err(error) => {
                    let problem = format!("cannot be made at `{}`; look at what is there", root.display());
                    Err(JournalError::of_journal(JournalErrorKind::Io, problem).with_source(error))
                }
            }
        })
        .await
    }
}
