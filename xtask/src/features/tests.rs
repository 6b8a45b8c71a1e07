use serde_json::{Value, json};

use super::selections;

fn check(name: &str, features: &Value, expected: &[&str]) {
    let package = serde_json::from_value(json!({
        "name": name,
        "version": "0.1.0",
        "manifest_path": "/w/crates/it/Cargo.toml",
        "dependencies": [],
        "targets": [],
        "features": features,
        "keywords": [],
        "categories": [],
    }));
    let found: Vec<_> = selections(&package.unwrap()).iter().map(|selection| selection.join("+")).collect();
    assert_eq!(found, expected, "{name} {features}");
}

#[test]
fn each_effective_set_is_checked_once() {
    check("a", &json!({}), &[""]);
    check("a", &json!({ "default": [] }), &[""]);
    check("a", &json!({ "x": [], "y": ["dep:z"] }), &["", "x", "y"]);
    // The default equals one feature here, and is a set of its own there.
    check("a", &json!({ "default": ["x"], "x": [], "y": [] }), &["", "x", "y"]);
    check("a", &json!({ "default": ["x", "y"], "x": [], "y": [] }), &["", "x", "y", "default"]);
}

#[test]
fn only_the_facade_is_checked_in_pairs() {
    let features = json!({ "default": ["team"], "team": [], "planning": [], "both": ["team", "planning"] });
    check("a", &features, &["", "both", "planning", "team"]);
    // `both` implies the other two, so that no pair with it is new.
    check("convoke", &features, &["", "both", "planning", "team", "planning+team"]);
}
