//! Every feature of a library is named in its crate docs.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    Finding,
    files::SourceFile,
    manifests::line_of,
    tokens::{begin_with, tokens},
};
use crate::metadata::{Package, Workspace};

pub(super) fn check(workspace: &Workspace, package: &Package) -> Result<Vec<Finding>> {
    let Some(library) = package.library() else { return Ok(vec![]) };
    let features: Vec<&String> = package.features.keys().filter(|name| *name != "default").collect();
    if features.is_empty() {
        return Ok(vec![]);
    }
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()));
    let docs = docs(&SourceFile::new(library.to_owned(), true, read(library)?));
    let manifest = read(&package.manifest_path)?;
    let undocumented = features.into_iter().filter(|name| !docs.contains(&format!("`{name}`")));
    Ok(undocumented
        .map(|name| {
            let message = format!(
                "feature `{name}` is not in the `//!` docs of {}; add it to the table of features there",
                workspace.relative(library).display()
            );
            let path = workspace.relative(&package.manifest_path);
            Finding::new(path, line_of(&manifest, "features", name), message)
        })
        .collect())
}

/// The crate docs of a root file, with the texts that it includes as docs.
fn docs(root: &SourceFile) -> String {
    let own = root.text.lines().filter(|line| line.starts_with("//!"));
    let mut docs: Vec<String> = own.map(ToOwned::to_owned).collect();
    let tokens = tokens(&root.code);
    for index in 0..tokens.len() {
        let ahead = tokens.get(index..).unwrap_or_default();
        if !begin_with(ahead, &["#", "!", "[", "doc", "=", "include_str", "!", "(", "\""]) {
            continue;
        }
        let literal = ahead.get(8).and_then(|quote| root.string_at(quote.offset));
        let path = literal.zip(root.path.parent()).map(|(literal, folder)| folder.join(literal));
        // A text that is not there fails the build, which says so better.
        docs.extend(path.and_then(|path| fs::read_to_string(path).ok()));
    }
    docs.join("\n")
}
