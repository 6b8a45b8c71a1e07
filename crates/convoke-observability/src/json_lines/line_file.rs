//! The file under a log, as far as the log needs one.

#[cfg(test)]
mod tests;

#[cfg(unix)]
use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    path::Path,
};

/// How often a file is opened that other logs take away; more is a log that is in use.
const ATTEMPTS: u32 = 8;

/// Bytes that are added at the end and may be cut off there.
pub(super) trait LineFile: Write + Send {
    /// Cuts off everything after `bytes`; an error says that it cannot be, or that more was added than `expected`.
    fn cut(&mut self, bytes: u64, expected: u64) -> io::Result<()>;
}

impl LineFile for File {
    fn cut(&mut self, bytes: u64, expected: u64) -> io::Result<()> {
        let metadata = self.metadata()?;
        // What a writer without a lock added in the meantime is not ours to cut.
        if !metadata.is_file() || metadata.len() != expected {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.set_len(bytes)
    }
}

/// A file that was opened for a log.
pub(super) struct Opened {
    pub(super) file: Box<dyn LineFile>,
    pub(super) bytes: u64,
    /// Whether the last line has no end.
    pub(super) is_torn: bool,
    /// Whether another file may take its place.
    pub(super) is_regular: bool,
}

/// Opens the file for adding, makes it where it is missing, and locks it; `WouldBlock` says that another log has it.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    for _ in 0..ATTEMPTS {
        if let Some(opened) = lock(path, add_to(path)?)? {
            return Ok(opened);
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn add_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Locks the file that was opened at `path`; `None` says that another log moved it away before it was locked.
fn lock(path: &Path, mut file: File) -> io::Result<Option<Opened>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Some(Opened { file: Box::new(file), bytes: 0, is_torn: false, is_regular: false }));
    }
    // On Windows a lock would keep readers out as well. A file system without locks is no reason to write no log.
    if !cfg!(windows) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    #[cfg(unix)]
    if !is_at(path, &metadata)? {
        return Ok(None);
    }
    let bytes = file.seek(SeekFrom::End(0))?;
    let is_torn = bytes > 0 && last_byte(path, bytes)? != b'\n';
    Ok(Some(Opened { file: Box::new(file), bytes, is_torn, is_regular: true }))
}

/// Whether `path` still names the file that was opened.
#[cfg(unix)]
fn is_at(path: &Path, opened: &Metadata) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn last_byte(path: &Path, bytes: u64) -> io::Result<u8> {
    let mut reader = File::open(path)?;
    reader.seek(SeekFrom::Start(bytes - 1))?;
    let mut last = [0];
    reader.read_exact(&mut last)?;
    let [last] = last;
    Ok(last)
}
