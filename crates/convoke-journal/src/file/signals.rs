//! Signals: a file each, which is whole once it is there.

use std::{collections::HashMap, io, path::Path};

use convoke_core::{JournalError, JournalErrorKind, Record, Signal, SignalId};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    bytes::{Reader, Writer},
    files::{self, Files, UNFINISHED},
    folder::Folder,
    held::Held,
    names,
    segment::Damage,
};
use crate::limits;

const MARKER: [u8; 8] = *b"cjsig\0\0\x01";

fn encode(signal: &Signal) -> Vec<u8> {
    let mut writer = Writer(MARKER.to_vec());
    writer.bytes(signal.id.as_str().as_bytes());
    writer.bytes(signal.body.as_bytes());
    writer.u64(xxh3_64(&writer.0));
    writer.0
}

fn decode(bytes: &[u8]) -> Option<Signal> {
    let (checked, checksum) = bytes.split_last_chunk::<8>()?;
    let mut reader = Reader(checked);
    if reader.array()? != MARKER || xxh3_64(checked) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let (id, body): (SignalId, _) = (reader.id()?, Record::from(reader.bytes()?));
    reader.is_at_end().then(|| Signal::new(id, body))
}

impl Folder {
    /// Puts a signal where the log's owner looks for it. Blocks.
    pub(super) fn send(&self, files: &dyn Files, signal: &Signal) -> Result<(), JournalError> {
        self.check_exists(files)?;
        let signals = self.signals();
        let names = files.names(&signals).map_err(|error| self.unreadable(&signals, error))?;
        let name = names::escape(signal.id.as_str());
        let failed = |error| self.failed("did not take a signal", &signals, error);
        if names.contains(&name) {
            // Whoever put it there may not have lived to make its name durable.
            return files.sync_folder(&signals).map_err(failed);
        }
        limits::check_waiting(&self.log, names.iter().filter(|name| !name.ends_with(UNFINISHED)).count())?;
        files::write_whole(files, &signals, &name, &encode(signal)).map_err(failed)
    }
}

impl Held {
    /// The signals that this claim was not told of, by the names of their files. Blocks.
    pub(super) fn untold(&self) -> Result<HashMap<String, Signal>, JournalError> {
        let signals = self.folder.signals();
        let names = self.files.names(&signals).map_err(|error| self.folder.unreadable(&signals, error))?;
        let mut untold = HashMap::new();
        let mut damaged = None;
        for name in names {
            if name.ends_with(UNFINISHED) || self.told.lock().contains(&name) {
                continue;
            }
            let path = signals.join(&name);
            match self.files.read(&path) {
                Ok(bytes) => match decode(&bytes) {
                    Some(signal) if self.is_taken(&signal.id, &path) => {}
                    Some(signal) => _ = untold.insert(name, signal),
                    None => damaged = Some(self.folder.damaged(&path, &Damage::new(0, "is no valid signal"))),
                },
                // The commit that took it has become durable meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.folder.failed("cannot be read", &path, error)),
            }
        }
        // What is damaged does not keep the others from being told, and is said once there are none.
        damaged.filter(|_| untold.is_empty()).map_or(Ok(untold), Err)
    }

    /// A signal that was taken is not told again. Its file goes once that is durable.
    fn is_taken(&self, id: &SignalId, path: &Path) -> bool {
        let line = self.line.lock();
        let is_taken = line.is_taken(id);
        if is_taken && !line.unsure_taken.contains(id) {
            // Sent once more, or taken by one who did not live to remove it.
            _ = self.files.remove(path);
        }
        is_taken
    }

    /// Of these, the ones that nobody told meanwhile.
    pub(super) fn tell(&self, untold: HashMap<String, Signal>) -> Vec<Signal> {
        let mut told = self.told.lock();
        let mut signals: Vec<_> =
            untold.into_iter().filter_map(|(name, signal)| told.insert(name).then_some(signal)).collect();
        signals.sort_by(|one, other| one.id.cmp(&other.id));
        signals
    }
}

/// The work was not done: the runtime ended, or it panicked.
pub(super) fn interrupted(
    folder: &Folder,
    error: impl std::error::Error + Send + Sync + 'static,
) -> JournalError {
    let problem = "was not reached, as the runtime ended; try again";
    JournalError::new(JournalErrorKind::Io, &folder.log, problem).with_source(error)
}
