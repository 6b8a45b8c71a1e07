//! What a program that was killed left half-written; it is removed when a review starts later.
//!
//! Whoever writes holds a lock on it, and the system drops the lock with the program. What is locked stays, and so does
//! what is younger than an hour: it may have been created just now and not be locked yet.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::Duration,
};

use crate::folder::{Folder, OpenError, effective_user};

/// How the name of a folder begins that becomes a review's directory when it is whole.
pub(crate) const STAGING: &str = ".release-review-";

/// How the name of a file begins that gets its own name when it is whole.
pub(crate) const WRITING: &str = ".write-";

/// How many letters and digits follow the beginning.
const RANDOM: usize = 6;

/// Nothing younger is removed.
const MIN_AGE: Duration = Duration::from_hours(1);

/// Keeps a file or folder from being taken for a leftover, as long as the handle is open.
pub(crate) fn hold(handle: &File) {
    // On a file system without locks nothing is ever removed, since that needs the lock too.
    let _ = handle.try_lock();
}

/// Removes what was left in a folder: files, and folders that hold nothing but `contents`.
///
/// What cannot be removed stays and is no failure of the review.
pub(crate) fn sweep(folder: &Path, prefix: &str, contents: &[&str]) {
    let (Ok(entries), Ok(open)) = (fs::read_dir(folder), Folder::open(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        if let Some(name) = entry.file_name().to_str().filter(|name| is_temporary(name, prefix)) {
            let _ = remove(&open, name, &entry.path(), contents);
        }
    }
}

fn is_temporary(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == RANDOM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn remove(folder: &Folder, name: &str, path: &Path, contents: &[&str]) -> Result<(), OpenError> {
    let handle = folder.entry(name)?.into_file();
    let metadata = handle.metadata().map_err(OpenError::from)?;
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    if metadata.uid() != effective_user() || age < MIN_AGE || handle.try_lock().is_err() {
        return Ok(());
    }
    if metadata.is_file() {
        fs::remove_file(path)?;
    } else if holds_nothing_but(path, contents)? {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// Somebody else's folder may have a name of the same form.
fn holds_nothing_but(folder: &Path, contents: &[&str]) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !contents.iter().any(|known| name == *known) {
            return Ok(false);
        }
    }
    Ok(true)
}
