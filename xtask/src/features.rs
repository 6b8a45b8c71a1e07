//! `features`: each feature of each library builds alone, without a warning, and the facade's in pairs.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use crate::{
    metadata::{Package, Workspace},
    shell,
    steps::Context,
};

/// The crate whose features are checked in pairs too: there they come from different crates and meet.
const FACADE: &str = "convoke";

const DEFAULT: &str = "default";

/// The features to switch on in one check, besides which everything is off.
type Selection = Vec<String>;

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    for name in &ctx.arguments {
        ensure!(ctx.workspace.package(name).is_some(), "no crate `{name}` in the workspace");
    }
    let is_wanted = |package: &&Package| ctx.arguments.is_empty() || ctx.arguments.contains(&package.name);
    for package in ctx.workspace.packages.iter().filter(is_wanted) {
        if package.library().is_some() {
            check(&ctx.workspace, package)?;
        }
    }
    Ok(())
}

fn check(workspace: &Workspace, package: &Package) -> Result<()> {
    let selections = selections(package);
    println!("{}: {} selections of features", package.name, selections.len());
    for selection in selections {
        let mut command = shell::cargo(&workspace.root, ["check", "--quiet", "--package", &package.name]);
        command.arg("--no-default-features").env("CARGO_FUTURE_INCOMPAT_REPORT_FREQUENCY", "never");
        if !selection.is_empty() {
            command.args(["--features", &selection.join(",")]);
        }
        let output = shell::capture(&mut command)?;
        let printed = String::from_utf8_lossy(&output.stderr);
        // Not `RUSTFLAGS`, under which each dependency would be built a second time.
        let has_warning = printed.lines().any(|line| line.starts_with("warning"));
        if !output.status.success() || has_warning {
            eprint!("{printed}");
            let what = if output.status.success() { "has warnings" } else { "failed" };
            bail!(
                "`{}` {what}; this crate alone: `cargo xtask features {}`",
                shell::describe(&command),
                package.name
            );
        }
    }
    Ok(())
}

/// None, each alone, the default, and the facade's pairs, each effective set of features once.
fn selections(package: &Package) -> Vec<Selection> {
    let names: Vec<&String> = package.features.keys().filter(|name| *name != DEFAULT).collect();
    let mut candidates = vec![vec![]];
    candidates.extend(names.iter().map(|name| vec![(*name).clone()]));
    if package.features.contains_key(DEFAULT) {
        candidates.push(vec![DEFAULT.to_owned()]);
    }
    if package.name == FACADE {
        for (index, first) in names.iter().enumerate() {
            let others = names.iter().skip(index + 1);
            candidates.extend(others.map(|second| vec![(*first).clone(), (*second).clone()]));
        }
    }
    let mut seen = BTreeSet::new();
    candidates.retain(|selection| seen.insert(effect(package, selection)));
    candidates
}

/// Everything that a selection switches on, which tells equal selections apart from different ones.
fn effect(package: &Package, selection: &Selection) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut waiting = selection.clone();
    while let Some(name) = waiting.pop() {
        if reached.insert(name.clone()) {
            waiting.extend(package.features.get(&name).into_iter().flatten().cloned());
        }
    }
    // No code asks whether it is the default that switched a feature on.
    reached.remove(DEFAULT);
    reached
}

#[cfg(test)]
mod tests;
