//! A project in a temporary directory that takes the packed crates instead of a registry's.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::{metadata::Workspace, shell};

pub(super) struct Project {
    directory: TempDir,
    /// The folder of each packed crate.
    crates: BTreeMap<String, PathBuf>,
    /// What it builds, which the next run reuses.
    target: PathBuf,
}

impl Project {
    pub(super) fn new(workspace: &Workspace, crates: BTreeMap<String, PathBuf>) -> Result<Self> {
        let directory =
            tempfile::tempdir().context("could not create a directory for the outside project")?;
        // The lock file becomes the project's own: cargo drops what it does not need. It begins with
        // the versions known here, so that a release of somebody else does not change this check.
        let lock = workspace.root.join("Cargo.lock");
        fs::copy(&lock, directory.path().join("Cargo.lock"))
            .with_context(|| format!("could not copy {}", lock.display()))?;
        Ok(Self { directory, crates, target: workspace.target_directory.join("outside").join("target") })
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A program with the text of its `[dependencies]`.
    pub(super) fn add_program(&self, name: &str, dependencies: &str, code: &str) -> Result<()> {
        let folder = self.directory().join(name);
        let manifest =
            format!("[package]\nname = \"{name}\"\nedition = \"2024\"\npublish = false\n\n{dependencies}");
        let write = || {
            fs::create_dir_all(folder.join("src"))?;
            fs::write(folder.join("Cargo.toml"), manifest)?;
            fs::write(folder.join("src/main.rs"), code)
        };
        write().with_context(|| format!("could not write the program `{name}`"))
    }

    /// A packed crate with a program of its own.
    pub(super) fn add_packed(&self, name: &str, folder: &Path) -> Result<()> {
        copy(folder, &self.directory().join(name))
    }

    /// A copy of a folder, whose place inside the project is given back.
    pub(super) fn copy_in(&self, folder: &Path) -> Result<PathBuf> {
        ensure!(folder.is_dir(), "no directory {}", folder.display());
        let copied = self.directory().join(folder.file_name().unwrap_or_default());
        copy(folder, &copied)?;
        Ok(copied)
    }

    /// Joins the programs, once all are there.
    pub(super) fn write_manifest(&self) -> Result<()> {
        let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [".to_owned();
        for entry in fs::read_dir(self.directory()).context("could not list the outside project")? {
            let entry = entry.context("could not list the outside project")?;
            if entry.path().join("Cargo.toml").exists() {
                let _ = write!(manifest, "\"{}\", ", entry.file_name().display());
            }
        }
        manifest.push_str("]\n\n[profile.dev]\ndebug = false\n\n[patch.crates-io]\n");
        for (name, folder) in &self.crates {
            // A path in a literal string, where a backslash is itself.
            let _ = writeln!(manifest, "{name} = {{ path = '{}' }}", folder.display());
        }
        fs::write(self.directory().join("Cargo.toml"), manifest)
            .context("could not write the outside project")
    }

    /// Checks that a program compiles.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let mut command = shell::cargo(self.directory(), ["check", "--quiet", "--package", name]);
        shell::run(command.env("CARGO_TARGET_DIR", &self.target))
    }

    /// Runs a program to its expected exit code and gives what it printed, which is never nothing.
    pub(super) fn run(&self, name: &str, arguments: &[&Path], code: i32) -> Result<String> {
        let mut command = shell::cargo(self.directory(), ["run", "--quiet", "--package", name, "--"]);
        command.args(arguments).env("CARGO_TARGET_DIR", &self.target);
        let output = shell::capture(&mut command)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        print!("{printed}");
        if output.status.code() != Some(code) {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            bail!("`{name}` outside the workspace ended with {}, expected exit code {code}", output.status);
        }
        ensure!(!printed.trim().is_empty(), "`{name}` outside the workspace printed nothing");
        Ok(printed)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("could not copy {}", from.display());
    fs::create_dir_all(to).with_context(failed)?;
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("could not copy {}", from.display()))?;
        }
    }
    Ok(())
}
