//! Running other programs: one way to start them, to say what was run, and to fail.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::tally::Tally;

/// The cargo that started this program, so that all steps use one toolchain.
pub(crate) fn cargo<I>(directory: &Path, arguments: I) -> Command
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), directory);
    command.args(arguments);
    command
}

/// A program that reads no input and inherits nothing that cargo says about this package.
pub(crate) fn program(name: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(directory).stdin(Stdio::null());
    // A build script that watches such a variable would be run again for each caller.
    for (name, _) in env::vars_os().filter(|(name, _)| describes_this_package(name)) {
        command.env_remove(name);
    }
    command
}

fn describes_this_package(variable: &OsString) -> bool {
    let name = variable.to_string_lossy();
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Runs to the end with the output shown; anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", describe(command));
    let status = command.status().with_context(|| not_started(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(command));
    }
    Ok(())
}

/// Runs a test runner like [`run`] and counts the tests that it reports.
pub(crate) fn run_tests(command: &mut Command, tally: &mut Tally) -> Result<()> {
    println!("$ {}", describe(command));
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| not_started(command))?;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(|output| output.split(b'\n')) {
        let line = line.with_context(|| format!("reading what `{}` prints", describe(command)))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.add_line(&line);
    }
    let status = child.wait().with_context(|| format!("waiting for `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(command));
    }
    Ok(())
}

/// Runs to the end and keeps what it prints; the caller judges the exit status.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| not_started(command))
}

/// What a successful command prints to its standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = capture(command)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}\n{}", describe(command), output.status, reason.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as a person would type it.
pub(crate) fn describe(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let _ = write!(line, "{}={} ", name.display(), quoted(value));
        }
    }
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    line.push_str(&quoted(program));
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains([' ', '"', '$', '*']) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}

fn not_started(command: &Command) -> String {
    format!("could not start `{}`", describe(command))
}
