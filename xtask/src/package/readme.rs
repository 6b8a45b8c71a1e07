//! The first program of the README, as a reader would copy it.

use anyhow::{Context as _, Result};

/// A program and what its reader is told to depend on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirstProgram {
    pub(super) code: String,
    /// The text of a manifest from `[dependencies]` on.
    pub(super) dependencies: String,
}

/// Finds the first block of Rust with a `fn main`, and the first of TOML with `[dependencies]`.
pub(super) fn first_program(readme: &str) -> Result<FirstProgram> {
    let blocks = fenced_blocks(readme);
    let first = |language: &str, content: &str| {
        let mut found =
            blocks.iter().filter(|block| block.language == language && block.text.contains(content));
        found.next().map(|block| block.text.clone())
    };
    Ok(FirstProgram {
        code: first("rust", "fn main").context(
            "README.md has no ```rust block with `fn main`; the first program of the README is run here",
        )?,
        dependencies: first("toml", "[dependencies]").context(
            "README.md has no ```toml block with `[dependencies]`; its first program is built with those",
        )?,
    })
}

struct Block<'a> {
    language: &'a str,
    text: String,
}

fn fenced_blocks(markdown: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for line in markdown.lines() {
        match (line.trim_end().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            // "rust,no_run" is Rust too.
            (Some(info), None) => {
                let language = info.split([',', ' ']).next().unwrap_or_default();
                open = Some(Block { language, text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests;
