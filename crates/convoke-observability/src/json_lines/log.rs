//! The log itself: whole lines only, and a new file where one is full.

#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::line_file::{self, LineFile, Opened};
use crate::SinkError;

pub(super) struct Log {
    path: PathBuf,
    max_bytes: u64,
    kept: u32,
    /// `None` between two files, where the second could not be opened yet.
    current: Option<Current>,
}

struct Current {
    file: Box<dyn LineFile>,
    /// The length of the whole lines.
    bytes: u64,
    /// The length of what stands after them.
    torn: u64,
    is_regular: bool,
}

impl Log {
    pub(super) fn open(path: PathBuf, max_bytes: u64, kept: u32) -> Result<Self, SinkError> {
        let mut log = Self { path, max_bytes, kept, current: None };
        log.current = Some(log.open_current()?);
        Ok(log)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds one line, which ends in a line break.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<(), SinkError> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.open_current()?,
        };
        let bytes = current.bytes.saturating_add(line.len() as u64);
        if current.is_regular && current.bytes > 0 && bytes > self.max_bytes {
            let rotated = self.rotate();
            // Its lock goes only now, so that no other sink takes it up on its way. A half line at its end stays there:
            // nothing follows it in that file.
            drop(current);
            rotated?;
            current = self.open_current()?;
        }
        let current = self.current.insert(current);
        let written = current.repair().and_then(|()| current.write(line));
        written.map_err(|error| self.error("cannot be written", error))
    }

    fn open_current(&self) -> Result<Current, SinkError> {
        let Opened { file, bytes, is_torn, is_regular } =
            line_file::open(&self.path).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => {
                    SinkError::new(format!("event log `{}` is in use by another sink", self.path.display()))
                }
                _ => self.error("cannot be opened", error),
            })?;
        let mut current = Current { file, bytes, torn: 0, is_regular };
        if is_torn {
            // What an earlier process left is not ours to cut.
            current.write(b"\n").map_err(|error| self.error("cannot be written", error))?;
        }
        Ok(current)
    }

    /// Moves the file out of the way, and each older one before it as far as there is no gap: a repeated attempt must
    /// not push out another file each time.
    fn rotate(&self) -> Result<(), SinkError> {
        if self.kept == 0 {
            return fs::remove_file(&self.path)
                .map_err(|error| self.error("is full and cannot be removed", error));
        }
        let gap = (1..self.kept).find(|number| !self.older(*number).exists()).unwrap_or(self.kept);
        for number in (0..gap).rev() {
            fs::rename(self.older(number), self.older(number + 1))
                .map_err(|error| self.error("is full and cannot be moved to its older files", error))?;
        }
        Ok(())
    }

    fn older(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.path.clone();
        }
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }

    fn error(&self, what: &str, source: io::Error) -> SinkError {
        SinkError::new(format!("event log `{}` {what}", self.path.display())).with_source(source)
    }
}

impl Current {
    /// Writes a line that follows a whole one; what a failure leaves of it is removed at once where that can be done.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        debug_assert_eq!(self.torn, 0);
        let mut rest = line;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return self.give_up(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.torn += written as u64;
                    rest = rest.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(error),
            }
        }
        self.bytes += self.torn;
        self.torn = 0;
        self.file.flush()
    }

    fn give_up(&mut self, error: io::Error) -> io::Result<()> {
        // Where it cannot be repaired now, the next line tries again and reports that.
        let _ = self.repair();
        Err(error)
    }

    /// Removes a half line or, where that cannot be done, ends it.
    fn repair(&mut self) -> io::Result<()> {
        if self.torn == 0 {
            return Ok(());
        }
        if self.file.cut(self.bytes, self.bytes + self.torn).is_err() {
            self.file.write_all(b"\n")?;
            self.bytes += self.torn + 1;
        }
        self.torn = 0;
        Ok(())
    }
}
