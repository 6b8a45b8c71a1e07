//! No lint is silenced without a reason, and no code waits to be written.

use super::{
    Finding,
    files::SourceFile,
    tokens::{Token, begin_with, bracketed, tokens},
};

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let tokens = tokens(&file.code);
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let ahead = tokens.get(index..).unwrap_or_default();
        if begin_with(ahead, &["#", "["]) || begin_with(ahead, &["#", "!", "["]) {
            let opening = ahead.iter().position(|token| token.text == "[").unwrap_or_default();
            findings.extend(silenced(file, bracketed(ahead.get(opening..).unwrap_or_default())));
        }
        let is_macro = ["(", "[", "{"].iter().any(|opening| begin_with(ahead, &[token.text, "!", opening]));
        if is_macro && matches!(token.text, "todo" | "unimplemented") {
            let message = format!(
                "`{}!` stands for code that is not there; write it, or leave out what needs it",
                token.text
            );
            findings.push(Finding::in_file(file, file.line(token.offset), message));
        }
    }
    findings
}

/// The lints that an attribute silences, also behind `cfg_attr`, without a reason.
fn silenced(file: &SourceFile, attribute: &[Token<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in attribute.iter().enumerate() {
        let ahead = attribute.get(index + 1..).unwrap_or_default();
        if !matches!(token.text, "allow" | "expect") || !begin_with(ahead, &["("]) {
            continue;
        }
        let gives_reason = bracketed(ahead).windows(2).any(|pair| begin_with(pair, &["reason", "="]));
        if !gives_reason {
            let message = format!(
                "`{}` without a reason; write `#[expect(<lint>, reason = \"<why here>\")]`",
                token.text
            );
            findings.push(Finding::in_file(file, file.line(token.offset), message));
        }
    }
    findings
}
