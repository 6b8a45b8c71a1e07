use std::fs;

use tempfile::TempDir;

use super::check;
use crate::metadata::Workspace;

const ROOT: &str = "\
[workspace]
members = [\"crates/*\"]

[workspace.package]
version = \"0.1.0\"
edition = \"2024\"
rust-version = \"1.95\"
license = \"MIT\"
repository = \"https://example.org\"

[workspace.dependencies]
inner = { path = \"crates/inner\" }

[workspace.lints]
";

const MANIFEST: &str = "\
[package]
name = \"outer\"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
repository.workspace = true
description = \"d\"
keywords = [\"k\"]
categories = [\"asynchronous\"]
readme = \"README.md\"

[lints]
workspace = true
";

/// A tidy workspace of one crate `outer`, over which files are laid.
fn workspace(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let tidy = [
        ("Cargo.toml", ROOT),
        ("crates/outer/Cargo.toml", MANIFEST),
        ("crates/outer/README.md", "# outer\n"),
        ("crates/outer/src/lib.rs", "//! The outer crate.\n"),
    ];
    for (path, text) in tidy.iter().chain(files) {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// Compares the findings, each up to the first `;`, where the mend begins.
fn findings(files: &[(&str, &str)], expected: &[&str]) {
    let directory = workspace(files);
    let (_, findings) = check(&Workspace::load(directory.path()).unwrap()).unwrap();
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    let places: Vec<_> = lines.iter().map(|line| line.split(';').next().unwrap()).collect();
    assert_eq!(places, expected);
}

/// Like [`findings`] for the one module `part` of the crate.
fn findings_in_part(text: &str, expected: &[&str]) {
    let lib = "//! The outer crate.\n\nmod part;\n";
    findings(&[("crates/outer/src/lib.rs", lib), ("crates/outer/src/part.rs", text)], expected);
}

fn lines(first: &str, count: usize) -> String {
    format!("{first}\n{}", "// x\n".repeat(count - first.lines().count()))
}

#[test]
fn a_tidy_workspace_has_no_findings() {
    findings(&[], &[]);
}

#[test]
fn a_long_file_gives_its_reason_and_ends() {
    findings_in_part(&lines("//! Part.", 500), &[]);
    findings_in_part(&lines("//! Part.", 501), &["crates/outer/src/part.rs:501: 501 lines"]);
    findings_in_part(&lines("//! Part.\n\n// Long: one table.", 800), &[]);
    findings_in_part(&lines("//! Part.\n\n// Long: ", 501), &["crates/outer/src/part.rs:501: 501 lines"]);
    findings_in_part(
        &lines("//! Part.\n\n// Long: one table.", 801),
        &["crates/outer/src/part.rs:801: 801 lines, the limit is 800"],
    );
}

#[test]
fn lib_rs_is_a_table_of_contents() {
    let docs = "//! The outer crate.\n".repeat(130);
    let constants = |count| "/// One.\npub const ONE: u8 = 1;\n".repeat(count);
    let path = "crates/outer/src/lib.rs";
    findings(&[(path, &format!("{docs}{}", constants(120)))], &[]);
    findings(
        &[(path, &format!("{docs}{}", constants(121)))],
        &["crates/outer/src/lib.rs:1: 121 lines of code, the limit is 120"],
    );
}

#[test]
fn modules_have_docs_except_those_of_tests() {
    findings_in_part("// Licence.\n#![cfg(unix)]\n//! Part.\n", &[]);
    findings_in_part("#![doc = include_str!(\"../README.md\")]\n", &[]);
    findings_in_part(
        "fn f() {\n    //! Only about this.\n}\n",
        &["crates/outer/src/part.rs:1: no module docs"],
    );
    findings_in_part("//! Part.\n#[cfg(test)]\nmod tests;\n", &[]);
    let part = ("crates/outer/src/part.rs", "//! Part.\n#[cfg(test)]\nmod tests;\n");
    let lib = ("crates/outer/src/lib.rs", "//! The outer crate.\nmod part;\n");
    findings(&[lib, part, ("crates/outer/src/part/tests.rs", "#[test]\nfn a() {}\n")], &[]);
    let main = ("crates/outer/tests/it/main.rs", "mod sums;\n");
    findings(
        &[main, ("crates/outer/tests/it/sums.rs", "#[test]\nfn a() {}\n")],
        &["crates/outer/tests/it/main.rs:1: no module docs"],
    );
}

#[test]
fn every_file_is_reached_by_a_mod() {
    let lib = "//! L.\nmod a;\npub mod inline {\n    //! I.\n    pub mod deep;\n    fn f() { if true {} }\n}\n\
               #[path = \"elsewhere/b.rs\"]\nmod b;\n// mod commented;\nconst _: &str = \"mod text;\";\n\
               const TEMPLATE: &str = include_str!(\"../templates/t.rs\");\n";
    let files = [
        ("crates/outer/src/lib.rs", lib),
        ("crates/outer/src/a.rs", "//! A.\nmod under;\n"),
        ("crates/outer/src/a/under.rs", "//! U.\n"),
        ("crates/outer/src/inline/deep.rs", "//! D.\n"),
        ("crates/outer/src/elsewhere/b.rs", "//! B.\n"),
        ("crates/outer/src/main.rs", "//! M.\nfn main() {}\n"),
        ("crates/outer/build.rs", "//! B.\nfn main() {}\n"),
        ("crates/outer/templates/t.rs", "\n"),
    ];
    findings(&files, &[]);
    let orphans = [
        ("crates/outer/src/commented.rs", "//! C.\n"),
        ("crates/outer/src/deep.rs", "//! D.\n"),
        ("crates/outer/src/text.rs", "//! T.\n"),
        ("crates/outer/src/under.rs", "//! U.\n"),
    ];
    findings(
        &[files.as_slice(), &orphans].concat(),
        &[
            "crates/outer/src/commented.rs:1: no `mod` leads here, so it is never compiled",
            "crates/outer/src/deep.rs:1: no `mod` leads here, so it is never compiled",
            "crates/outer/src/text.rs:1: no `mod` leads here, so it is never compiled",
            "crates/outer/src/under.rs:1: no `mod` leads here, so it is never compiled",
        ],
    );
}

#[test]
fn names_say_something() {
    let files = [
        ("crates/outer/src/lib.rs", "//! L.\nmod part;\nmod utils;\n"),
        ("crates/outer/src/part/mod.rs", "//! P.\n\nmod helpers {}\n"),
        ("crates/outer/src/utils.rs", "//! U.\n"),
        ("crates/outer/tests/it/main.rs", "//! T.\nmod common { pub mod a; }\n"),
        ("crates/outer/tests/it/common/a.rs", "//! A.\n"),
    ];
    findings(
        &files,
        &[
            "crates/outer/src/part/mod.rs:1: name the file `part.rs`, beside the folder `part/`",
            "crates/outer/src/part/mod.rs:3: `helpers` says nothing",
            "crates/outer/src/utils.rs:1: `utils` says nothing",
            "crates/outer/tests/it/common/a.rs:1: `common` says nothing",
            "crates/outer/tests/it/main.rs:2: `common` says nothing",
        ],
    );
}

#[test]
fn lints_are_silenced_with_a_reason() {
    findings_in_part("//! P.\n#[expect(dead_code, reason = \"r\")]\nfn f() { x.expect(\"a\"); }\n", &[]);
    findings_in_part("//! P.\n// #[allow(a)]\nconst _: &str = \"#[allow(a)]\";\n", &[]);
    findings_in_part(
        "//! P.\n#![allow(reason, b)]\n#[cfg_attr(\n    test,\n    expect(a, b)\n)]\nfn f() {}\n",
        &[
            "crates/outer/src/part.rs:2: `allow` without a reason",
            "crates/outer/src/part.rs:5: `expect` without a reason",
        ],
    );
}

#[test]
fn no_code_waits_to_be_written() {
    findings_in_part("//! P. `todo!()`\nfn todo() -> bool { todo != 1 }\n", &[]);
    findings_in_part(
        "//! P.\nfn f() {\n    todo!()\n}\nfn g() { unimplemented!(\"x\") }\n",
        &[
            "crates/outer/src/part.rs:3: `todo!` stands for code that is not there",
            "crates/outer/src/part.rs:5: `unimplemented!` stands for code that is not there",
        ],
    );
}

#[test]
fn features_are_in_the_crate_docs() {
    let manifest = format!("{MANIFEST}\n[features]\ndefault = [\"one\"]\none = []\ntwo = []\n");
    let manifest = ("crates/outer/Cargo.toml", manifest.as_str());
    let lib = "//! | `one` | the first |\n//! two\n\n/// `two`\npub fn f() {}\n";
    let missing =
        "crates/outer/Cargo.toml:19: feature `two` is not in the `//!` docs of crates/outer/src/lib.rs";
    findings(&[manifest, ("crates/outer/src/lib.rs", lib)], &[missing]);
    let included = "//! `one`\n#![doc = include_str!(\"../README.md\")]\n";
    let readme = ("crates/outer/README.md", "# outer\n\n- `two`\n");
    findings(&[manifest, readme, ("crates/outer/src/lib.rs", included)], &[]);
}

#[test]
fn manifests_inherit() {
    let manifest = MANIFEST
        .replace("license.workspace = true", "license = \"MIT\"")
        .replace("[lints]\nworkspace = true\n", "")
        + "\n[dependencies]\ninner = { workspace = true }\nown = { path = \"../inner\", package = \"inner\" }\n\n[target.'cfg(unix)'.dev-dependencies]\nother = { path = \"../inner\", package = \"inner\" }\n";
    let inner = MANIFEST.replace("\"outer\"", "\"inner\"");
    findings(
        &[
            ("crates/outer/Cargo.toml", &manifest),
            ("crates/inner/Cargo.toml", &inner),
            ("crates/inner/README.md", ""),
            ("crates/inner/src/lib.rs", "//! I.\n"),
        ],
        &[
            "crates/outer/Cargo.toml:1: write `[lints]` and `workspace = true`",
            "crates/outer/Cargo.toml:6: write `license.workspace = true`",
            "crates/outer/Cargo.toml:16: write `own = { workspace = true }`, and the version in the root's `[workspace.dependencies]`",
            "crates/outer/Cargo.toml:19: write `other = { workspace = true }`, and the version in the root's `[workspace.dependencies]`",
        ],
    );
}

#[test]
fn published_crates_present_themselves() {
    let manifest = MANIFEST
        .replace("\"outer\"", "\"other\"")
        .replace("description = \"d\"\n", "")
        .replace("[\"k\"]", "[]")
        .replace("categories = [\"asynchronous\"]\n", "")
        .replace("README.md", "ABSENT.md");
    findings(
        &[("crates/outer/Cargo.toml", &manifest)],
        &[
            "crates/outer/Cargo.toml:1: a published crate needs `categories`",
            "crates/outer/Cargo.toml:1: a published crate needs `description`",
            "crates/outer/Cargo.toml:2: the folder is `outer`",
            "crates/outer/Cargo.toml:8: a published crate needs `keywords`",
            "crates/outer/Cargo.toml:9: a published crate needs `readme`",
        ],
    );
    let private = manifest
        .replace("\"other\"", "\"outer\"\npublish = false")
        .replace("repository.workspace = true\n", "");
    findings(&[("crates/outer/Cargo.toml", &private)], &[]);
}
