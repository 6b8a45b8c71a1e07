//! Files stay short, and `lib.rs` a table of contents.

use super::{Finding, files::SourceFile};

/// Above this a file gives its reason: a comment with `Long: <reason>` among its first lines.
const LONG: usize = 500;

/// Above this there is no reason that counts.
const TOO_LONG: usize = 800;

/// Where the reason is looked for.
const TOP: usize = 40;

/// The most lines of code that a table of contents takes.
const LIB: usize = 120;

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.text.lines().count();
    if lines > TOO_LONG {
        let message = format!("{lines} lines, the limit is {TOO_LONG}; split the file by concern");
        findings.push(Finding::in_file(file, TOO_LONG + 1, message));
    } else if lines > LONG && !gives_reason(&file.text) {
        let message = format!(
            "{lines} lines; split the file, or say why not in a comment `// Long: <reason>` in its first {TOP} lines"
        );
        findings.push(Finding::in_file(file, LONG + 1, message));
    }
    if file.is_named("lib.rs") && file.is_root {
        // Comments are blank in the code, so that the crate's docs may be as long as they need.
        let code = file.code.lines().filter(|line| !line.trim().is_empty()).count();
        if code > LIB {
            let message = format!(
                "{code} lines of code, the limit is {LIB}; lib.rs is docs, `mod` and `pub use`, move the rest into modules"
            );
            findings.push(Finding::in_file(file, 1, message));
        }
    }
    findings
}

fn gives_reason(text: &str) -> bool {
    text.lines().take(TOP).map(str::trim_start).any(|line| {
        let reason = line.split_once("Long: ").filter(|_| line.starts_with("//"));
        reason.is_some_and(|(_, reason)| !reason.trim().is_empty())
    })
}
