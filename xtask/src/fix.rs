//! `fix`: the only command that writes source files.

use anyhow::Result;

use crate::{metadata::Workspace, shell, tools};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    tools::require_component("clippy", "clippy")?;
    tools::require_component("fmt", "rustfmt")?;
    let arguments = [
        "clippy",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
        "--workspace",
        "--all-targets",
        "--all-features",
    ];
    shell::run(&mut shell::cargo(&workspace.root, arguments))?;
    shell::run(&mut shell::cargo(&workspace.root, ["fmt", "--all"]))
}
