//! Peers that are crates: a program of ours in a package outside the workspace.

use std::{env, process::Command};

use anyhow::Result;

use super::{sources, succeed, target};

/// A call of the program of a package, which is built first, from its lock file.
pub(super) fn command(package: &str) -> Result<Command> {
    let target = target()?.join(package);
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]);
    build.arg(sources().join(package).join("Cargo.toml")).arg("--target-dir").arg(&target);
    succeed(&mut build)?;
    let program = format!("convoke-peers-{package}{}", env::consts::EXE_SUFFIX);
    Ok(Command::new(target.join("release").join(program)))
}
