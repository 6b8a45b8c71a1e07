//! Setting up a log of JSON lines.

use std::path::PathBuf;

use parking_lot::Mutex;

use super::{JsonLinesSink, log::Log};
use crate::SinkError;

const DEFAULT_BYTES: u64 = 64 * 1024 * 1024;
const DEFAULT_KEPT: u32 = 5;

/// Sets how large the files of a [`JsonLinesSink`] get, and how many are kept.
#[derive(Debug)]
#[must_use = "a builder does nothing until `open`"]
pub struct JsonLinesBuilder {
    path: PathBuf,
    max_bytes: u64,
    kept: u32,
}

impl JsonLinesBuilder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, max_bytes: DEFAULT_BYTES, kept: DEFAULT_KEPT }
    }

    /// Sets after how many bytes a new file is begun; 64 MiB unless set.
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Writes one file without a limit.
    pub fn unlimited(self) -> Self {
        self.rotate_at(u64::MAX)
    }

    /// Sets how many older files are kept beside the one that is written; 5 unless set. With none, a full file is
    /// removed.
    pub fn keep(mut self, files: u32) -> Self {
        self.kept = files;
        self
    }

    /// Opens the file, or makes it; its folder must exist.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or another sink has it.
    pub fn open(self) -> Result<JsonLinesSink, SinkError> {
        Ok(JsonLinesSink(Mutex::new(Log::open(self.path, self.max_bytes, self.kept)?)))
    }
}
