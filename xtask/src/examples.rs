//! `examples`: every package under `examples/` runs and ends with the exit code that it promises.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    metadata::{Package, Workspace},
    shell,
    steps::Context,
};

/// The exit code of a review that was completed and found the release blocked.
pub(crate) const BLOCKED: i32 = 3;

/// The example whose runs are named in [`REVIEWS`].
pub(crate) const RELEASE_REVIEW: &str = "release-review";

/// Each evidence directory of the release review, with the exit code of its review.
const REVIEWS: [(&str, i32); 2] = [("evidence/blocked", BLOCKED), ("evidence/ready", 0)];

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let workspace = &ctx.workspace;
    ensure!(workspace.examples().next().is_some(), "no package under examples/");
    for package in workspace.examples() {
        if package.name == RELEASE_REVIEW {
            run_reviews(workspace, package)?;
        } else {
            run_example(workspace, package, &[], 0)?;
        }
    }
    Ok(())
}

fn run_reviews(workspace: &Workspace, package: &Package) -> Result<()> {
    for (evidence, code) in REVIEWS {
        let evidence = package.directory().join(evidence);
        ensure!(evidence.is_dir(), "no directory {}", workspace.relative(&evidence).display());
        let directory = tempfile::tempdir().context("could not create a directory for the review")?;
        let task = directory.path().join("task");
        let arguments = [evidence.as_path(), Path::new("--directory"), &task];
        run_example(workspace, package, &arguments, code)?;
    }
    Ok(())
}

/// Runs with the features that the package itself asks for, not those of the whole workspace.
fn run_example(workspace: &Workspace, package: &Package, arguments: &[&Path], code: i32) -> Result<()> {
    let mut command = shell::cargo(&workspace.root, ["run", "--quiet", "--package", &package.name]);
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    println!("$ {}", shell::describe(&command));
    let output = shell::capture(&mut command)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(code) {
        bail!("`{}` ended with {}, expected exit code {code}", shell::describe(&command), output.status);
    }
    ensure!(!printed.trim().is_empty(), "`{}` printed nothing", shell::describe(&command));
    Ok(())
}
