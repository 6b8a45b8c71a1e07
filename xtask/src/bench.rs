//! `bench`: the benchmarks with the release profile.

use anyhow::Result;

use crate::{metadata::Workspace, shell};

pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    let mut command =
        shell::cargo(&workspace.root, ["run", "--release", "--package", "convoke-benches", "--"]);
    shell::run(command.args(names))
}
