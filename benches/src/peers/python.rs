//! Peers that are scripts: each in a virtual environment of its own, below the target folder.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{sources, succeed, target};

/// A call of a script with what it needs.
pub(super) fn command(peer: &str, script: &str) -> Result<Command> {
    let python = environment(peer, script)?;
    let mut command = Command::new(python);
    command.arg(sources().join(format!("{script}.py")));
    Ok(command)
}

/// The environment's Python; made where it is not there.
fn environment(peer: &str, script: &str) -> Result<PathBuf> {
    let folder = target()?.join(peer);
    let python = if cfg!(windows) { folder.join("Scripts/python.exe") } else { folder.join("bin/python") };
    if !python.is_file() {
        let Ok(system) = find_python() else {
            bail!("no Python; install Python 3.10 or newer, or leave `--peers` out");
        };
        succeed(Command::new(system).args(["-m", "venv"]).arg(&folder))?;
    }
    // Where everything is there already, this asks no registry.
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    succeed(install.arg(sources().join(format!("{script}.txt"))))?;
    Ok(python)
}

fn find_python() -> Result<&'static str> {
    let is_there = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|answer| answer.status.success())
    };
    ["python3", "python"].into_iter().find(is_there).context("no Python on the search path")
}
