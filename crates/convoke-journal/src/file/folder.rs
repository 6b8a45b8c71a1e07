//! The folder of a log: the names of what is in it.

use std::{
    io,
    path::{Path, PathBuf},
};

use convoke_core::{JournalError, JournalErrorKind, LogId, Sequence};

use super::{
    files::{Files, UNFINISHED},
    lock::{self, LogState},
    names,
    segment::Damage,
};

/// Where a log is.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) log: LogId,
    pub(super) path: PathBuf,
}

/// What is in the folder of a log, each kind from the oldest to the newest.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) segments: Vec<Sequence>,
    pub(super) snapshots: Vec<Sequence>,
    /// What its writer did not live to finish.
    pub(super) unfinished: Vec<String>,
    /// What was set aside.
    pub(super) torn: Vec<String>,
}

impl Inventory {
    /// From where on the log is kept: its start, or the oldest snapshot whose segment is there. A removal that was cut
    /// short leaves more than that, which nothing can be read from.
    pub(super) fn oldest(&self) -> Sequence {
        let has_segment = |place: &Sequence| self.segments.binary_search(place).is_ok();
        let starts = [Sequence::START].into_iter().chain(self.snapshots.iter().copied());
        starts.filter(has_segment).min().unwrap_or_default()
    }
}

impl Folder {
    pub(super) fn new(root: &Path, log: &LogId) -> Self {
        Self { log: log.clone(), path: root.join(names::escape(log.as_str())) }
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(super) fn signals(&self) -> PathBuf {
        self.path.join("signals")
    }

    pub(super) fn segment(&self, first: Sequence) -> PathBuf {
        self.path.join(segment_name(first))
    }

    pub(super) fn snapshot(&self, upto: Sequence) -> PathBuf {
        self.path.join(snapshot_name(upto))
    }

    pub(super) fn inventory(&self, files: &dyn Files) -> Result<Inventory, JournalError> {
        let names = files.names(&self.path).map_err(|error| self.unreadable(&self.path, error))?;
        let mut inventory = Inventory::default();
        for name in names {
            if name.ends_with(UNFINISHED) {
                inventory.unfinished.push(name);
            } else if let Some(first) = numbered(&name, "segment-") {
                inventory.segments.push(first);
            } else if let Some(upto) = numbered(&name, "snapshot-") {
                inventory.snapshots.push(upto);
            } else if name.starts_with("torn-") {
                inventory.torn.push(name);
            }
        }
        inventory.segments.sort_unstable();
        inventory.snapshots.sort_unstable();
        Ok(inventory)
    }

    /// Refuses a log that is not there, or was deleted.
    pub(super) fn check_exists(&self, files: &dyn Files) -> Result<(), JournalError> {
        let slots = files.read(&self.lock()).map_err(|error| self.unreadable(&self.lock(), error))?;
        self.check_not_deleted(&slots)
    }

    pub(super) fn check_not_deleted(&self, slots: &[u8]) -> Result<(), JournalError> {
        match lock::latest(slots).map(|slot| slot.state) {
            Some(LogState::Deleted) => Err(JournalError::not_found(&self.log)),
            _ => Ok(()),
        }
    }

    /// What is not there means that there is no such log; all else may pass.
    pub(super) fn unreadable(&self, path: &Path, error: io::Error) -> JournalError {
        if error.kind() == io::ErrorKind::NotFound {
            return JournalError::not_found(&self.log);
        }
        self.failed("cannot be read", path, error)
    }

    pub(super) fn failed(&self, what: &str, path: &Path, error: io::Error) -> JournalError {
        let problem = format!("{what} at `{}`; look at its file system, then try again", path.display());
        JournalError::new(JournalErrorKind::Io, &self.log, problem).with_source(error)
    }

    pub(super) fn damaged(&self, path: &Path, damage: &Damage) -> JournalError {
        let Damage { offset, problem } = damage;
        let path = path.display();
        let problem =
            format!("is damaged: `{path}` {problem} at byte {offset}; nothing was changed, restore it");
        JournalError::new(JournalErrorKind::Damaged, &self.log, problem)
    }
}

pub(super) fn segment_name(first: Sequence) -> String {
    format!("segment-{:020}", first.get())
}

pub(super) fn snapshot_name(upto: Sequence) -> String {
    format!("snapshot-{:020}", upto.get())
}

fn numbered(name: &str, kind: &str) -> Option<Sequence> {
    let number = Sequence::new(name.strip_prefix(kind)?.parse().ok()?);
    (format!("{kind}{:020}", number.get()) == name).then_some(number)
}
