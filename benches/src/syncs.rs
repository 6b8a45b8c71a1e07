//! What a side makes durable, counted from outside: a small library that is loaded into `count` before that of the
//! system notes each sync and the bytes of each write in a file.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use tempfile::{NamedTempFile, TempPath};

/// Names the file with the two numbers.
const VARIABLE: &str = "CONVOKE_SYNCS";

/// Two numbers of eight bytes.
const LENGTH: u64 = 16;

/// What was asked of the file system since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syncs {
    /// Calls that wait until something is durable.
    pub(crate) syncs: u64,
    /// The bytes that were written into files.
    pub(crate) bytes: u64,
}

impl Syncs {
    /// `None` where nobody counts.
    pub(crate) fn so_far() -> Option<Self> {
        let bytes = fs::read(env::var_os(VARIABLE)?).ok()?;
        let (syncs, bytes) = bytes.split_at_checked(8)?;
        let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
        Some(Self { syncs: number(syncs)?, bytes: number(bytes)? })
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { syncs: self.syncs - earlier.syncs, bytes: self.bytes - earlier.bytes }
    }
}

/// Has the syncs of a program counted that is about to start, and keeps the numbers as long as it is kept; `None` where
/// the system cannot load a library before another.
pub(crate) fn counting(command: &mut Command) -> Result<Option<TempPath>> {
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    let numbers = NamedTempFile::new()?;
    numbers.as_file().set_len(LENGTH)?;
    command.env(VARIABLE, numbers.path()).env("LD_PRELOAD", library()?);
    Ok(Some(numbers.into_temp_path()))
}

/// The library beside this program; made where it is not there, or older than its source.
fn library() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("preload/syncs.c");
    let library = env::current_exe()?.with_file_name("libconvoke_syncs.so");
    let changed = |path: &Path| File::open(path).and_then(|file| file.metadata()?.modified());
    if changed(&library).ok() < Some(changed(&source)?) {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
        let output = compiler
            .output()
            .context("no C compiler `cc`, which cargo needs for linking, to count syncs with")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`cc` ended with {}\n{errors}", output.status);
    }
    Ok(library)
}
