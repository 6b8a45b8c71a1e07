//! Packing the crates, and unpacking them where a build can reuse what it has built before.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{
    examples::RELEASE_REVIEW,
    metadata::{Package, Workspace},
    shell,
};

/// Packs every crate that is published and the release review. Gives each one's unpacked folder.
pub(super) fn pack_and_unpack(workspace: &Workspace) -> Result<BTreeMap<String, PathBuf>> {
    let packages: Vec<&Package> =
        workspace.packages.iter().filter(|package| is_packed(workspace, package)).collect();
    // All at once, so that none asks the registry for a sibling that is not there yet. Cargo's own build
    // of each archive would find nothing that the outside project does not.
    let mut command = shell::cargo(&workspace.root, ["package", "--quiet", "--no-verify", "--allow-dirty"]);
    command.arg("--exclude-lockfile");
    for package in &packages {
        command.args(["--package", &package.name]);
    }
    shell::run(&mut command)?;
    packages.iter().map(|package| Ok((package.name.clone(), unpack(workspace, package)?))).collect()
}

fn is_packed(workspace: &Workspace, package: &Package) -> bool {
    (workspace.is_crate(package) && package.is_publishable()) || package.name == RELEASE_REVIEW
}

fn unpack(workspace: &Workspace, package: &Package) -> Result<PathBuf> {
    let name = format!("{}-{}", package.name, package.version);
    let archive = workspace.target_directory.join("package").join(format!("{name}.crate"));
    let fresh = tempfile::tempdir().context("could not create a directory to unpack in")?;
    let mut command = shell::program("tar", fresh.path());
    shell::read(command.arg("-xzf").arg(&archive))?;
    let folder = workspace.target_directory.join("outside").join("crates").join(&package.name);
    mirror(&fresh.path().join(name), &folder)
        .with_context(|| format!("could not unpack {} into {}", archive.display(), folder.display()))?;
    Ok(folder)
}

/// Makes a folder equal to another and leaves equal files untouched: cargo builds again what is newer.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let wanted = names(from)?;
    for name in names(to)?.difference(&wanted) {
        let path = to.join(name);
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    for name in wanted {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            mirror(&from, &to)?;
        } else if fs::read(&to).ok() != Some(fs::read(&from)?) {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

fn names(directory: &Path) -> Result<BTreeSet<OsString>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests;
