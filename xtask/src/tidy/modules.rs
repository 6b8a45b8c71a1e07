//! Every module says what it is for, and every file belongs to one.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use super::{
    Finding,
    files::SourceFile,
    tokens::{begin_with, bracketed, tokens},
};

/// A `mod` in a file.
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// Whether its body stands in the same file.
    pub(super) is_inline: bool,
    /// The files that its body may stand in, where it is not inline.
    places: Vec<PathBuf>,
}

/// Module docs, in every file but the modules of tests.
pub(super) fn check_docs(file: &SourceFile) -> Option<Finding> {
    let is_below = |folder: &str| {
        file.path
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .any(|part| part == Component::Normal(folder.as_ref()))
    };
    let is_test_module = file.is_named("tests.rs") || is_below("tests");
    let needs_docs = file.is_root || (is_below("src") && !is_test_module);
    // At the start of a line both can only be about the whole file.
    let has_docs = file.text.lines().any(|line| line.starts_with("//!") || line.starts_with("#![doc"));
    (needs_docs && !has_docs)
        .then(|| Finding::in_file(file, 1, "no module docs; begin the file with `//! <what it is for>`"))
}

/// Files that no root reaches by `mod` or `include`.
pub(super) fn check_orphans(files: &[SourceFile]) -> Vec<Finding> {
    let mut reached: BTreeSet<&Path> = BTreeSet::new();
    let mut waiting: Vec<&SourceFile> = files.iter().filter(|file| file.is_root).collect();
    while let Some(file) = waiting.pop() {
        if !reached.insert(&file.path) {
            continue;
        }
        let places: BTreeSet<PathBuf> =
            declarations(file).into_iter().flat_map(|module| module.places).chain(included(file)).collect();
        waiting.extend(files.iter().filter(|other| places.contains(&other.path)));
    }
    let orphans = files.iter().filter(|file| !reached.contains(file.path.as_path()));
    orphans
        .map(|file| {
            Finding::in_file(file, 1, "no `mod` leads here, so it is never compiled; declare or delete it")
        })
        .collect()
}

/// All `mod` items of a file.
pub(super) fn declarations(file: &SourceFile) -> Vec<Declaration<'_>> {
    let tokens = tokens(&file.code);
    let beside = file.path.parent().unwrap_or(Path::new(""));
    let below = if file.is_root || file.is_named("mod.rs") {
        beside.to_owned()
    } else {
        file.path.with_extension("")
    };
    let mut found = Vec::new();
    // The inline modules around the place, each with the depth of its braces.
    let mut around: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut path_attribute = None;
    for (index, token) in tokens.iter().enumerate() {
        let ahead = tokens.get(index..).unwrap_or_default();
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                around.retain(|(_, opened)| *opened < depth + 1);
            }
            "path" if begin_with(ahead, &["path", "=", "\""]) => {
                path_attribute = ahead.get(2).and_then(|quote| file.string_at(quote.offset));
            }
            "mod" => {
                let (Some(name), Some(end)) = (ahead.get(1), ahead.get(2)) else { continue };
                let is_inline = end.text == "{";
                if !is_inline && end.text != ";" {
                    continue;
                }
                let folder = around.iter().fold(below.clone(), |folder, (name, _)| folder.join(name));
                let places = match path_attribute.take() {
                    _ if is_inline => vec![],
                    Some(path) if around.is_empty() => vec![normal(&beside.join(path))],
                    Some(path) => vec![normal(&folder.join(path))],
                    None => {
                        vec![folder.join(format!("{}.rs", name.text)), folder.join(name.text).join("mod.rs")]
                    }
                };
                found.push(Declaration { name: name.text, line: file.line(token.offset), is_inline, places });
                if is_inline {
                    around.push((name.text, depth + 1));
                }
            }
            ";" => path_attribute = None,
            _ => {}
        }
    }
    found
}

/// The source files that a file includes as code or as text.
fn included(file: &SourceFile) -> Vec<PathBuf> {
    let tokens = tokens(&file.code);
    let beside = file.path.parent().unwrap_or(Path::new(""));
    let mut paths = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let ahead = tokens.get(index + 1..).unwrap_or_default();
        if !matches!(token.text, "include" | "include_str" | "include_bytes")
            || !begin_with(ahead, &["!", "("])
        {
            continue;
        }
        let arguments = bracketed(ahead.get(1..).unwrap_or_default());
        let literal = arguments.first().and_then(|quote| file.string_at(quote.offset));
        paths.extend(literal.map(|path| normal(&beside.join(path))));
    }
    paths
}

/// The path without `..`, so that it compares equal to that of a file.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
