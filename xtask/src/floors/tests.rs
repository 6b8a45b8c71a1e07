use serde_json::{Value, json};

use super::check;
use crate::metadata::Workspace;

/// The folder of a package, its floor and its dependencies with their kinds.
type Member<'a> = (&'a str, Value, &'a [(&'a str, Option<&'a str>)]);

fn workspace(packages: &[Member<'_>]) -> Workspace {
    let folder_of = |name: &str| {
        let folder = packages.iter().map(|(folder, ..)| *folder).find(|folder| folder.ends_with(name));
        format!("/w/{}", folder.unwrap_or(name))
    };
    let packages: Vec<_> = packages
        .iter()
        .map(|(folder, floor, dependencies)| {
            let dependencies: Vec<_> = dependencies
                .iter()
                .map(|(name, kind)| json!({ "name": name, "kind": kind, "path": folder_of(name) }))
                .chain([json!({ "name": "tokio", "kind": null })])
                .collect();
            let metadata =
                if floor.is_null() { Value::Null } else { json!({ "convoke": { "floor": floor } }) };
            json!({
                "name": folder.rsplit('/').next(),
                "version": "0.1.0",
                "manifest_path": format!("/w/{folder}/Cargo.toml"),
                "dependencies": dependencies,
                "targets": [],
                "features": {},
                "keywords": [],
                "categories": [],
                "metadata": metadata,
            })
        })
        .collect();
    let value = json!({ "packages": packages, "workspace_root": "/w", "target_directory": "/w/target" });
    serde_json::from_value(value).unwrap()
}

fn violations(packages: &[Member<'_>]) -> Vec<String> {
    check(&workspace(packages))
}

const DEV: Option<&str> = Some("dev");
const BUILD: Option<&str> = Some("build");

#[test]
fn going_down_is_fine_and_tests_may_meet_anyone() {
    let found = violations(&[
        ("crates/low", json!(0), &[("kit", DEV), ("high", DEV)]),
        ("crates/high", json!(2), &[("low", None), ("kit", DEV)]),
        ("crates/kit", json!("dev"), &[("low", None), ("high", None)]),
        ("examples/show", Value::Null, &[("high", None), ("low", None), ("kit", DEV)]),
        ("xtask", Value::Null, &[]),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_edge_that_does_not_go_down_is_named() {
    let found = violations(&[
        ("crates/a", json!(2), &[("b", None)]),
        ("crates/b", json!(2), &[("c", BUILD)]),
        ("crates/c", json!(3), &[]),
    ]);
    let edges: Vec<_> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(edges, ["a (floor 2) -> b (floor 2)", "b (floor 2) -> c (floor 3)"]);
}

#[test]
fn the_crate_for_tests_is_never_a_normal_dependency() {
    let found = violations(&[
        ("crates/a", json!(2), &[("kit", None)]),
        ("crates/kit", json!("dev"), &[]),
        ("tests", Value::Null, &[("kit", None)]),
    ]);
    assert_eq!(
        found,
        [
            "a (floor 2) -> kit (floor dev): a crate for tests is a dev-dependency only",
            "tests -> kit (floor dev): a crate for tests is a dev-dependency only",
        ]
    );
}

#[test]
fn what_composes_is_not_depended_on() {
    let found = violations(&[
        ("crates/a", json!(2), &[("show", DEV)]),
        ("examples/show", Value::Null, &[("a", None)]),
    ]);
    assert_eq!(found, ["a (floor 2) -> show: what lies outside crates/ is not depended on"]);
}

#[test]
fn a_crate_without_a_readable_floor_is_reported_once() {
    let found = violations(&[
        ("crates/a", Value::Null, &[]),
        ("crates/b", json!("first"), &[]),
        ("crates/c", json!(1), &[("a", None), ("b", None)]),
    ]);
    assert_eq!(
        found,
        [
            "a: no floor; write `[package.metadata.convoke]` and `floor = n` in crates/a/Cargo.toml",
            "b: floor \"first\" is neither a number nor \"dev\"",
        ]
    );
}
