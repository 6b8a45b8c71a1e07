//! `tidy`: what a reader of the tree may rely on, checked by reading alone.
//!
//! Each rule is a file of its own under `tidy/`. A finding names the place, what is wrong and the mend.

mod attributes;
mod features;
mod files;
mod manifests;
mod modules;
mod names;
mod size;
mod source;
mod tokens;

use std::{fmt, path::PathBuf};

use anyhow::{Result, bail};

use self::files::SourceFile;
use crate::{metadata::Workspace, steps::Context};

/// Something to mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// The file, from the root of the workspace.
    path: PathBuf,
    line: usize,
    /// What is wrong and the way out.
    message: String,
}

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let (files, findings) = check(&ctx.workspace)?;
    if !findings.is_empty() {
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        bail!("{} findings\n{}", findings.len(), lines.join("\n"));
    }
    println!("{files} files of {} packages are tidy", ctx.workspace.packages.len());
    Ok(())
}

/// The number of source files, and all findings in the order of the tree.
fn check(workspace: &Workspace) -> Result<(usize, Vec<Finding>)> {
    let mut count = 0;
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let files = files::read(workspace, package)?;
        count += files.len();
        for file in &files {
            findings.extend(size::check(file));
            findings.extend(modules::check_docs(file));
            findings.extend(names::check(file));
            findings.extend(attributes::check(file));
        }
        findings.extend(modules::check_orphans(&files));
        findings.extend(features::check(workspace, package)?);
        findings.extend(manifests::check(workspace, package)?);
    }
    findings.sort();
    findings.dedup();
    Ok((count, findings))
}

impl Finding {
    fn new(path: impl Into<PathBuf>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }

    fn in_file(file: &SourceFile, line: usize, message: impl Into<String>) -> Self {
        Self::new(&file.path, line, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

#[cfg(test)]
mod tests;
