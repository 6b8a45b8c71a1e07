//! Programs that the steps need besides cargo: components of the toolchain, and tools at a pinned version.

use std::{ffi::OsString, path::Path};

use anyhow::{Context as _, Result, bail};

use crate::{metadata::Workspace, shell};

/// A subcommand of cargo, built from its published source at one exact version.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) features: &'static [&'static str],
}

/// Fails with the way out if a component of the toolchain is not installed.
pub(crate) fn require_component(subcommand: &str, component: &str) -> Result<()> {
    let answer = shell::capture(&mut shell::cargo(Path::new("."), [subcommand, "--version"]))?;
    if !answer.status.success() {
        bail!("`{component}` is not installed; run `rustup component add {component}`");
    }
    Ok(())
}

impl Tool {
    /// The program at the pinned version: from the search path, else from the target folder, where it
    /// is installed the first time.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<OsString> {
        let tools = workspace.target_directory.join("tools");
        let installed = tools.join("bin").join(self.name).into_os_string();
        for program in [OsString::from(self.name), installed.clone()] {
            if self.is_pinned_version(&program, &workspace.root) {
                return Ok(program);
            }
        }
        self.install(&tools, &workspace.root)
            .with_context(|| format!("{} {} could not be installed", self.name, self.version))?;
        Ok(installed)
    }

    fn is_pinned_version(&self, program: &OsString, directory: &Path) -> bool {
        let answer = shell::capture(shell::program(program, directory).arg("--version"));
        answer.is_ok_and(|answer| {
            let words = String::from_utf8_lossy(&answer.stdout);
            words.split_whitespace().nth(1) == Some(self.version)
        })
    }

    /// Without optimisation: the tool runs for a second, and would take minutes longer to build.
    fn install(&self, tools: &Path, directory: &Path) -> Result<()> {
        let build = tools.join("build");
        let mut command =
            shell::cargo(directory, ["install", "--quiet", "--locked", "--debug", "--no-default-features"]);
        command
            .args(["--features", &self.features.join(",")])
            .args(["--version", &format!("={}", self.version)])
            .arg("--root")
            .arg(tools)
            .arg(self.name)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TARGET_DIR", &build);
        shell::run(&mut command)?;
        std::fs::remove_dir_all(&build).with_context(|| format!("could not remove {}", build.display()))
    }
}
