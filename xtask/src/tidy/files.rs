//! The source files of a package.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::source::code_only;
use crate::metadata::{Package, Workspace};

/// A source file as the rules read it.
pub(super) struct SourceFile {
    /// From the root of the workspace.
    pub(super) path: PathBuf,
    /// The root of a library, a program, a test, an example, a benchmark or a build script.
    pub(super) is_root: bool,
    pub(super) text: String,
    /// The text without comments and the contents of literals, byte for byte in the same place.
    pub(super) code: String,
}

impl SourceFile {
    pub(super) fn new(path: PathBuf, is_root: bool, text: String) -> Self {
        Self { code: code_only(&text), path, is_root, text }
    }

    /// The line of a byte, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|file| file == name)
    }

    /// The text of the string literal whose opening quote stands at an offset; raw strings are not read.
    pub(super) fn string_at(&self, offset: usize) -> Option<&str> {
        let literal = self.text.get(offset..)?.strip_prefix('"')?;
        literal.split('"').next()
    }
}

/// Reads every source file of a package, in the order of their paths.
pub(super) fn read(workspace: &Workspace, package: &Package) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk(package.directory(), &mut paths)?;
    paths.sort();
    let roots: Vec<&Path> = package.targets.iter().map(|target| target.src_path.as_path()).collect();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let is_root = roots.contains(&path.as_path());
        Ok(SourceFile::new(workspace.relative(&path).to_owned(), is_root, text))
    };
    paths.into_iter().map(read).collect()
}

fn walk(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = || format!("could not list {}", directory.display());
    for entry in fs::read_dir(directory).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let path = entry.path();
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type().with_context(unreadable)?.is_dir() {
            // A folder with a manifest is another package; `target` holds what was built.
            if !is_hidden && name != "target" && !path.join("Cargo.toml").exists() {
                walk(&path, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}
