//! `floors`: a dependency between crates goes strictly down.
//!
//! The floor of a crate stands in its manifest, `[package.metadata.convoke] floor = n`. The floor
//! `"dev"` marks a crate for tests, which nobody may need in order to build. What lies outside
//! `crates/` composes, and is not depended on.

mod bans;

use anyhow::{Result, bail};

use crate::{
    metadata::{Dependency, Package, Workspace},
    steps::Context,
};

/// Where a package stands in the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floor {
    Number(u64),
    /// For tests only.
    Dev,
    /// Above all floors: examples, whole-system tests, automation.
    Composition,
}

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let workspace = &ctx.workspace;
    let mut violations = check(workspace);
    violations.extend(bans::check(workspace)?);
    if !violations.is_empty() {
        bail!("{} violations\n{}", violations.len(), violations.join("\n"));
    }
    println!("{} crates, every dependency goes down", workspace.crates().count());
    Ok(())
}

/// All violations of the rules, one line each.
fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let from = match floor(workspace, package) {
            Ok(floor) => floor,
            Err(violation) => {
                violations.push(violation);
                continue;
            }
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            // A floor that cannot be read is reported once, for the package itself.
            let Some(target) = workspace.package(&dependency.name) else { continue };
            let Ok(to) = floor(workspace, target) else { continue };
            if let Some(rule) = broken_rule(from, to, dependency) {
                violations.push(format!("{} -> {}: {rule}", named(package, from), named(target, to)));
            }
        }
    }
    violations
}

fn floor(workspace: &Workspace, package: &Package) -> Result<Floor, String> {
    if !workspace.is_crate(package) {
        return Ok(Floor::Composition);
    }
    let value = package.metadata.pointer("/convoke/floor");
    match value {
        Some(value) if value.as_str() == Some("dev") => Ok(Floor::Dev),
        Some(value) if value.is_u64() => Ok(Floor::Number(value.as_u64().unwrap_or_default())),
        Some(value) => Err(format!("{}: floor {value} is neither a number nor \"dev\"", package.name)),
        None => Err(format!(
            "{}: no floor; write `[package.metadata.convoke]` and `floor = n` in {}",
            package.name,
            workspace.relative(&package.manifest_path).display()
        )),
    }
}

/// The rule that a dependency breaks, as the end of a sentence.
fn broken_rule(from: Floor, to: Floor, dependency: &Dependency) -> Option<&'static str> {
    let for_tests = dependency.kind.as_deref() == Some("dev");
    match (from, to) {
        (_, Floor::Composition) => Some("what lies outside crates/ is not depended on"),
        // A crate may meet any other in its tests.
        _ if for_tests => None,
        (_, Floor::Dev) => Some("a crate for tests is a dev-dependency only"),
        (Floor::Number(from), Floor::Number(to)) if to >= from => {
            Some("a dependency goes strictly down; move what both need to a lower floor")
        }
        _ => None,
    }
}

fn named(package: &Package, floor: Floor) -> String {
    match floor {
        Floor::Number(number) => format!("{} (floor {number})", package.name),
        Floor::Dev => format!("{} (floor dev)", package.name),
        Floor::Composition => package.name.clone(),
    }
}

#[cfg(test)]
mod tests;
