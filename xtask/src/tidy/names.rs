//! Modules and folders say what they hold.

use std::path::Component;

use super::{Finding, files::SourceFile, modules::declarations};

/// Words under which anything may end up.
const EMPTY_WORDS: [&str; 6] = ["common", "helper", "helpers", "misc", "util", "utils"];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.is_named("mod.rs") {
        let folder = file.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        let message = format!("name the file `{0}.rs`, beside the folder `{0}/`", folder.display());
        findings.push(Finding::in_file(file, 1, message));
    }
    let folders_and_module = file.path.with_extension("");
    for component in folders_and_module.components() {
        let Component::Normal(name) = component else { continue };
        findings.extend(empty_word(file, 1, &name.to_string_lossy()));
    }
    for module in declarations(file).iter().filter(|module| module.is_inline) {
        findings.extend(empty_word(file, module.line, module.name));
    }
    findings
}

fn empty_word(file: &SourceFile, line: usize, name: &str) -> Option<Finding> {
    EMPTY_WORDS.contains(&name).then(|| {
        let message =
            format!("`{name}` says nothing; name it after what it holds, or move each item to its owner");
        Finding::in_file(file, line, message)
    })
}
