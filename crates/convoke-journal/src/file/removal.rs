//! What goes: snapshots that are too old, and logs that were deleted.

use std::{io, path::Path};

use super::{files::Files, folder::Folder};
use crate::Retain;

/// Removes what is older than `retain` says, so that what is left at any moment can be read.
pub(super) fn forget(files: &dyn Files, folder: &Folder, retain: Retain) -> io::Result<()> {
    let Retain::Snapshots(before) = retain else { return Ok(()) };
    let inventory = folder.inventory(files).map_err(io::Error::other)?;
    let Some(&oldest) = inventory.snapshots.iter().rev().nth(before) else { return Ok(()) };
    // Snapshots first: a segment without one is passed over, a snapshot without its segment is read in vain.
    for upto in inventory.snapshots.into_iter().filter(|upto| *upto < oldest) {
        files.remove(&folder.snapshot(upto))?;
    }
    for first in inventory.segments.into_iter().filter(|first| *first < oldest) {
        files.remove(&folder.segment(first))?;
    }
    for name in inventory.unfinished {
        files.remove(&folder.path.join(name))?;
    }
    Ok(())
}

/// Removes the folder of a log that was deleted, the lock last, so that it says so until the end.
pub(super) fn remove(files: &dyn Files, folder: &Path) -> io::Result<()> {
    let signals = folder.join("signals");
    for name in or_none(files.names(&signals))?.unwrap_or_default() {
        or_none(files.remove(&signals.join(name)))?;
    }
    or_none(files.remove_folder(&signals))?;
    for name in or_none(files.names(folder))?.unwrap_or_default() {
        if name != "lock" {
            or_none(files.remove(&folder.join(name)))?;
        }
    }
    or_none(files.remove(&folder.join("lock")))?;
    or_none(files.remove_folder(folder))?;
    folder.parent().map_or(Ok(()), |root| files.sync_folder(root))
}

/// What is gone already need not be removed.
fn or_none<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
