//! What the facade brings by default: no heavy or foreign dependency, however deep.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use crate::{metadata::Workspace, shell};

/// The package whose default features are checked.
const FACADE: &str = "convoke";

/// Names of packages that its default dependency tree must not hold, by the reason.
const BANNED: [(&str, &[&str]); 4] = [
    (
        "HTTP",
        &["axum", "curl", "h2", "h3", "hyper", "hyper-util", "isahc", "reqwest", "surf", "tonic", "ureq"],
    ),
    ("TLS", &["aws-lc-rs", "aws-lc-sys", "boring", "native-tls", "openssl", "openssl-sys", "ring", "rustls"]),
    (
        "a database or a broker",
        &[
            "async-nats",
            "deadpool-postgres",
            "diesel",
            "fred",
            "libsqlite3-sys",
            "lapin",
            "postgres",
            "rdkafka",
            "redb",
            "redis",
            "rocksdb",
            "rusqlite",
            "sled",
            "sqlx",
            "sqlx-core",
            "tokio-postgres",
        ],
    ),
    ("an optional layer", &["genai", "opentelemetry", "petgraph", "rmcp"]),
];

/// One line for each banned package in the tree, with the way to see who brings it.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    workspace.package(FACADE).with_context(|| format!("no package `{FACADE}` in the workspace"))?;
    // `cargo metadata` resolves for all members at once; `cargo tree` for one package alone.
    let arguments = ["tree", "--package", FACADE, "--edges", "normal,build", "--target", "all"];
    let mut command = shell::cargo(&workspace.root, arguments);
    Ok(banned(&shell::read(command.args(["--prefix", "none", "--format", "{p}"]))?))
}

/// Finds the banned packages in lines like `name v1.2.3 (..)`.
fn banned(tree: &str) -> Vec<String> {
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut lines = Vec::new();
    for (reason, packages) in BANNED {
        for name in packages.iter().filter(|name| names.contains(**name)) {
            lines.push(format!(
                "{FACADE} -> .. -> {name}: {reason} is behind a feature, never a default; \
                 `cargo tree -p {FACADE} -e normal,build -i {name}` shows who brings it"
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests;
