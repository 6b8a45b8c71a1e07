//! What the journal asks of a file system, so that each call can be made to fail.

use std::{io, path::Path, time::Instant};

/// A file system. Its calls block.
pub(crate) trait Files: Send + Sync + 'static {
    /// The names in a folder, in no order.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Makes a file that is not there yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Opens a file that is there, for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Makes a folder, and those above it.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// A file takes the place of what is there; a folder only that of an empty one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes durable which names are in a folder.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// The time by which syncs are measured.
    fn now(&self) -> Instant;
}

/// A file that is open for reading and writing.
pub(crate) trait OpenFile: Send + Sync {
    fn read(&self) -> io::Result<Vec<u8>>;

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes durable what is in the file.
    fn sync(&self) -> io::Result<()>;

    fn cut(&self, length: u64) -> io::Result<()>;

    /// `false` where it is locked elsewhere, also in this process.
    fn try_lock(&self) -> io::Result<bool>;

    fn unlock(&self) -> io::Result<()>;
}

/// How the name of a file ends until it is whole. No escaped id ends like that: `~` stands in none but before a digest.
pub(super) const UNFINISHED: &str = "~unfinished";

/// Makes a file of this name that is whole once it is there, also after a loss of power.
pub(super) fn write_whole(files: &dyn Files, folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(format!("{name}-{}{UNFINISHED}", uuid::Uuid::new_v4().simple()));
    let file = files.create(&unfinished)?;
    let written = file.write_at(0, bytes).and_then(|()| file.sync());
    drop(file);
    if let Err(error) = written.and_then(|()| files.rename(&unfinished, &folder.join(name))) {
        // The first error is the one to tell; what stays is swept away by the next owner.
        _ = files.remove(&unfinished);
        return Err(error);
    }
    files.sync_folder(folder)
}
