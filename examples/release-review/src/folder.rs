//! Files opened relative to an open folder and without following links, and files that are written once.

use std::{
    fs::{File, Permissions},
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::Path,
};

use rustix::{
    fs::{Dir, Mode, OFlags},
    io::Errno,
};

use crate::leftovers;

/// An open folder. What is opened in it is what was checked: there is no path to be swapped in between.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
}

/// Something opened in a folder.
#[derive(Debug)]
pub(crate) enum Opened {
    Folder(Folder),
    File(OpenFile),
}

/// An open regular file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    size: u64,
}

/// Why something in a folder was not opened or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("is a symbolic link, which is not followed: put the file itself there")]
    Symlink,
    #[error("is neither a regular file nor a folder")]
    NotRegular,
    #[error("has more than {limit} bytes, which is the most that is read: split the file or leave parts out")]
    TooLarge { limit: u64 },
    #[error("has a name that is not utf-8: rename it")]
    Name,
    #[error("the folder has more than {limit} entries: leave out what the review does not need")]
    TooMany { limit: usize },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why a file that is written once was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteOnceError {
    #[error("holds other content already")]
    Conflict,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Folder {
    /// Opens a folder by its path. Links on the way to it are the caller's own and are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { handle })
    }

    /// The names in the folder, sorted, without those that begin with a dot.
    pub(crate) fn names(&self, limit: usize) -> Result<Vec<String>, OpenError> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(io::Error::from)? {
            let entry = entry.map_err(io::Error::from)?;
            let Ok(name) = entry.file_name().to_str() else {
                return Err(OpenError::Name);
            };
            if name.starts_with('.') {
                continue;
            }
            if names.len() == limit {
                return Err(OpenError::TooMany { limit });
            }
            names.push(name.to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens one entry, and looks at what was opened instead of at its name.
    pub(crate) fn entry(&self, name: &str) -> Result<Opened, OpenError> {
        // Without NONBLOCK the opening of a named pipe would wait for a writer for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::LOOP | Errno::MLINK) => return Err(OpenError::Symlink),
            Err(Errno::NXIO | Errno::OPNOTSUPP) => return Err(OpenError::NotRegular),
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
        let file = File::from(handle);
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Ok(Opened::Folder(Self { handle: file.into() }));
        }
        if !metadata.is_file() {
            return Err(OpenError::NotRegular);
        }
        Ok(Opened::File(OpenFile { file, size: metadata.len() }))
    }

    /// Reads one file in the folder.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, OpenError> {
        match self.entry(name)? {
            Opened::File(file) => file.read(limit),
            Opened::Folder(_) => Err(OpenError::NotRegular),
        }
    }

    /// Opens a folder in the folder.
    pub(crate) fn folder(&self, name: &str) -> Result<Self, OpenError> {
        match self.entry(name)? {
            Opened::Folder(folder) => Ok(folder),
            Opened::File(_) => Err(io::Error::from(io::ErrorKind::NotADirectory).into()),
        }
    }
}

impl Opened {
    /// The handle, whatever it is of.
    pub(crate) fn into_file(self) -> File {
        match self {
            Self::Folder(folder) => folder.handle.into(),
            Self::File(file) => file.file,
        }
    }
}

impl OpenFile {
    /// The whole file.
    pub(crate) fn read(self, limit: u64) -> Result<Vec<u8>, OpenError> {
        if self.size > limit {
            return Err(OpenError::TooLarge { limit });
        }
        let mut bytes = Vec::new();
        // A file may grow after its size was taken; the limit holds all the same.
        self.file.take(limit + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
            Ok(bytes)
        } else {
            Err(OpenError::TooLarge { limit })
        }
    }
}

impl OpenError {
    /// Whether the entry does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Writes a file that nobody may change afterwards: whole or not at all, and durable on return.
///
/// A file that is there already with the same bytes is fine; with other bytes it stays as it is.
pub(crate) fn write_once(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), WriteOnceError> {
    // As any other file: the umask takes away what others may not do.
    let permissions = Permissions::from_mode(0o666);
    let mut temporary =
        tempfile::Builder::new().prefix(leftovers::WRITING).permissions(permissions).tempfile_in(folder)?;
    leftovers::hold(temporary.as_file());
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    // A link, unlike a rename, never replaces what stands there.
    match std::fs::hard_link(temporary.path(), folder.join(name)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !holds(folder, name, bytes)? {
                return Err(WriteOnceError::Conflict);
            }
        }
        Err(error) => return Err(error.into()),
    }
    temporary.close()?;
    // Also when the file was there: whoever wrote it may have ended before it was durable.
    sync_folder(folder)?;
    Ok(())
}

/// Whether the file is there with exactly these bytes; a missing one is not.
pub(crate) fn holds(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let limit = u64::try_from(bytes.len()).unwrap_or(u64::MAX - 1);
    match Folder::open(folder)?.read(name, limit) {
        Ok(found) => Ok(found == bytes),
        Err(OpenError::Io(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) => Ok(false),
    }
}

/// The user whose rights the program has.
pub(crate) fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
