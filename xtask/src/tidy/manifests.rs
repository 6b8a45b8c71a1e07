//! Manifests inherit what the workspace decides, and say what a registry needs.

use std::fs;

use anyhow::{Context as _, Result};
use toml::{Table, Value};

use super::Finding;
use crate::metadata::{Package, Workspace};

/// The keys of `[package]` that the workspace decides for every package.
const INHERITED: [&str; 3] = ["version", "edition", "rust-version"];

/// Those that only a published package needs, and that the workspace decides too.
const INHERITED_IF_PUBLISHED: [&str; 2] = ["license", "repository"];

/// The tables of dependencies, also below `[target.*]`.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The most keywords that crates.io takes.
const KEYWORDS: usize = 5;

/// What is wrong at a key of a table.
struct Complaint {
    table: &'static str,
    key: String,
    message: String,
}

pub(super) fn check(workspace: &Workspace, package: &Package) -> Result<Vec<Finding>> {
    let path = &package.manifest_path;
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    let manifest: Table = text.parse().with_context(|| format!("could not read {}", path.display()))?;
    let mut complaints = inheritance(&manifest, package);
    if package.is_publishable() {
        complaints.extend(publication(package));
    }
    let folder = package.directory().file_name().unwrap_or_default();
    if workspace.is_crate(package) && folder != package.name.as_str() {
        let message = format!("the folder is `{}`; folder and crate have one name", folder.display());
        complaints.push(Complaint::new("package", "name", message));
    }
    let finding = |Complaint { table, key, message }| {
        Finding::new(workspace.relative(path), line_of(&text, table, &key), message)
    };
    Ok(complaints.into_iter().map(finding).collect())
}

/// Versions and lints come from the workspace.
fn inheritance(manifest: &Table, package: &Package) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let value = |key: &str| manifest.get("package").and_then(|table| table.get(key));
    let optional =
        INHERITED_IF_PUBLISHED.iter().filter(|key| package.is_publishable() || value(key).is_some());
    for key in INHERITED.iter().chain(optional) {
        if !value(key).is_some_and(is_inherited) {
            complaints.push(Complaint::new("package", *key, format!("write `{key}.workspace = true`")));
        }
    }
    if !manifest.get("lints").is_some_and(is_inherited) {
        complaints.push(Complaint::new("lints", "workspace", "write `[lints]` and `workspace = true`"));
    }
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for tables in platforms.filter_map(Value::as_table).chain([manifest]) {
        for table in DEPENDENCIES {
            let dependencies = tables.get(table).and_then(Value::as_table);
            for (name, dependency) in dependencies.into_iter().flatten() {
                if !is_inherited(dependency) {
                    let message = format!(
                        "write `{name} = {{ workspace = true }}`, and the version in the root's `[workspace.dependencies]`"
                    );
                    complaints.push(Complaint::new(table, name, message));
                }
            }
        }
    }
    complaints
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// What a reader of the registry looks for.
fn publication(package: &Package) -> Vec<Complaint> {
    let readme = package.readme.as_ref().map(|readme| package.directory().join(readme));
    let missing = [
        ("description", package.description.as_ref().is_none_or(|text| text.trim().is_empty())),
        ("keywords", package.keywords.is_empty()),
        ("categories", package.categories.is_empty()),
        ("readme", !readme.is_some_and(|path| path.is_file())),
    ];
    let missing = missing.into_iter().filter(|(_, is_missing)| *is_missing);
    let mut complaints: Vec<_> = missing
        .map(|(key, _)| {
            let message = format!("a published crate needs `{key}`; write it, or `publish = false`");
            Complaint::new("package", key, message)
        })
        .collect();
    if package.keywords.len() > KEYWORDS {
        let message = format!("{} keywords, the registry takes {KEYWORDS}", package.keywords.len());
        complaints.push(Complaint::new("package", "keywords", message));
    }
    complaints
}

impl Complaint {
    fn new(table: &'static str, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { table, key: key.into(), message: message.into() }
    }
}

/// The line of a key in a table of a manifest, else that of the table, else the first.
pub(super) fn line_of(manifest: &str, table: &str, key: &str) -> usize {
    let mut inside = false;
    let mut line_of_table = 1;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            inside = header == table || header.ends_with(&format!(".{table}"));
            if inside {
                line_of_table = index + 1;
            }
        } else if inside {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if name.trim_matches('"') == key {
                return index + 1;
            }
        }
    }
    line_of_table
}
