//! The workspace as `cargo metadata` tells it, cut down to what the commands read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::shell;

/// The workspace: its members and its folders.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// The registries it may go to: none if the list is empty, any if there is no list.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) description: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) readme: Option<PathBuf>,
    /// The free-form table `[package.metadata]`.
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
}

/// A dependency as the manifest declares it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The kind: none for a normal one.
    pub(crate) kind: Option<String>,
    /// Where a dependency by path stands.
    pub(crate) path: Option<PathBuf>,
}

/// Something that a package builds.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Workspace {
    /// Reads the workspace around a directory. Resolves nothing and needs no network.
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let mut command = shell::cargo(directory, ["metadata", "--format-version=1", "--no-deps"]);
        let json = shell::read(&mut command)?;
        serde_json::from_str(&json).context("could not read what `cargo metadata` printed")
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// A path as the reader of a message knows it: from the root of the workspace.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// The folder of a package, from the root of the workspace.
    pub(crate) fn folder<'a>(&self, package: &'a Package) -> &'a Path {
        self.relative(package.directory())
    }

    /// The packages of the folder `crates`, which others build on.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.is_crate(package))
    }

    pub(crate) fn is_crate(&self, package: &Package) -> bool {
        self.folder(package).starts_with("crates")
    }

    /// The packages of the folder `examples`.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.folder(package).starts_with("examples"))
    }
}

impl Package {
    pub(crate) fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// The root file of its library.
    pub(crate) fn library(&self) -> Option<&Path> {
        let target = self.targets.iter().find(|target| target.is_library())?;
        Some(&target.src_path)
    }

    pub(crate) fn is_publishable(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

impl Target {
    fn is_library(&self) -> bool {
        self.kind.iter().any(|kind| matches!(kind.as_str(), "lib" | "rlib" | "proc-macro"))
    }
}
