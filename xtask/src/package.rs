//! `package`: what would be published serves a project that knows nothing of this workspace.
//!
//! The packed crates are unpacked under the target folder, and a project in a temporary directory
//! builds against them alone: first every crate with all its features, then the program of
//! `README.md`, then a whole release review, through its library and through its program.

mod packed;
mod project;
mod readme;

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, ensure};

use self::project::Project;
use crate::{
    examples::{BLOCKED, RELEASE_REVIEW},
    metadata::Workspace,
    steps::Context,
};

/// A program that does a release review through the library of the example.
const REVIEW_PROGRAM: &str = include_str!("../templates/outside-review.rs");

/// The dependencies of that program.
const REVIEW_DEPENDENCIES: &str = include_str!("../templates/outside-review.toml");

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let workspace = &ctx.workspace;
    let readme = workspace.root.join("README.md");
    let readme =
        fs::read_to_string(&readme).context("could not read README.md, whose first program is run here")?;
    let first = readme::first_program(&readme)?;
    let mut crates = packed::pack_and_unpack(workspace)?;
    let review = crates.remove(RELEASE_REVIEW).with_context(|| format!("no package `{RELEASE_REVIEW}`"))?;
    let every_crate = dependencies(workspace, crates.keys())?;

    let project = Project::new(workspace, crates)?;
    let evidence = project.copy_in(&workspace.root.join("examples/release-review/evidence/blocked"))?;
    project.add_program("every-crate", &every_crate, "fn main() {}\n")?;
    project.add_program("first-program", &first.dependencies, &first.code)?;
    project.add_program("outside-review", REVIEW_DEPENDENCIES, REVIEW_PROGRAM)?;
    project.add_packed(RELEASE_REVIEW, &review)?;
    project.write_manifest()?;

    println!("every crate, all features, from its archive:");
    project.check("every-crate")?;

    println!("the first program of README.md:");
    project.run("first-program", &[], 0)?;

    println!("a review by a program that has {RELEASE_REVIEW} as a library:");
    let task = project.directory().join("task-of-library");
    let printed = project.run("outside-review", &[evidence.as_path(), &task], 0)?;
    ensure!(printed.contains("blocked"), "the outside review does not print that the release is blocked");
    ensure_report(workspace, &task)?;

    println!("a review by the packed program:");
    let task = project.directory().join("task-of-program");
    project.run(RELEASE_REVIEW, &[evidence.as_path(), Path::new("--directory"), &task], BLOCKED)?;
    ensure_report(workspace, &task)
}

/// The dependencies of a program that takes every packed crate with all its features.
fn dependencies<'a>(workspace: &Workspace, names: impl Iterator<Item = &'a String>) -> Result<String> {
    let mut table = "[dependencies]\n".to_owned();
    for name in names {
        let package =
            workspace.package(name).with_context(|| format!("no package `{name}` in the workspace"))?;
        let features: Vec<_> = package.features.keys().collect();
        let _ = writeln!(table, "{name} = {{ version = \"={}\", features = {features:?} }}", package.version);
    }
    Ok(table)
}

fn ensure_report(workspace: &Workspace, task: &Path) -> Result<()> {
    let report = Path::new("output/report.json");
    let shown = workspace.relative(task).display();
    ensure!(task.join(report).is_file(), "the review has left no {} in {shown}", report.display());
    Ok(())
}
