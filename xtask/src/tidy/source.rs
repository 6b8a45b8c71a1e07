//! The code of a file without its comments and the contents of its literals.

/// Replaces comments and the inside of string and character literals by spaces, byte for byte, so that
/// offsets and lines stay. The quotes of a string stay too, and mark where its text can be read.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        let (length, kept) = match literal(rest, previous) {
            Some(Literal { length, opening, closing }) => {
                let (whole, _) = rest.split_at_checked(length).unwrap_or((rest, ""));
                let (before, inside) = whole.split_at_checked(opening).unwrap_or((whole, ""));
                let inner = inside.len().saturating_sub(closing);
                let (inside, after) = inside.split_at_checked(inner).unwrap_or((inside, ""));
                (whole.len(), format!("{before}{}{after}", spaces(inside)))
            }
            None => (first.len_utf8(), first.to_string()),
        };
        code.push_str(&kept);
        previous = first;
        rest = rest.get(length..).unwrap_or("");
    }
    code
}

/// A comment or literal at the start of a text, in bytes.
struct Literal {
    length: usize,
    /// How many bytes at the start and at the end are kept.
    opening: usize,
    closing: usize,
}

fn literal(rest: &str, previous: char) -> Option<Literal> {
    let blank = |length| Literal { length, opening: 0, closing: 0 };
    if rest.starts_with("//") {
        return Some(blank(rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some(blank(block_comment(rest)));
    }
    if rest.starts_with('"') {
        let (length, closing) = string(rest);
        return Some(Literal { length, opening: 1, closing });
    }
    if rest.starts_with('\'') {
        return character(rest).map(blank);
    }
    // `r` ends an identifier like `ptr` far more often than it begins a raw string.
    if previous.is_alphanumeric() || previous == '_' { None } else { raw_string(rest) }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut length = 0;
    while let Some(ahead) = rest.get(length..).filter(|ahead| !ahead.is_empty()) {
        if ahead.starts_with("/*") {
            depth += 1;
            length += 2;
        } else if ahead.starts_with("*/") {
            depth -= 1;
            length += 2;
            if depth == 0 {
                return length;
            }
        } else {
            length += ahead.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string literal, and that of its closing quote.
fn string(rest: &str) -> (usize, usize) {
    let mut escaped = false;
    for (offset, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return (offset + 1, 1),
            _ => {}
        }
    }
    (rest.len(), 0)
}

/// A character literal, but not a lifetime or a label.
fn character(rest: &str) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    let (_, first) = characters.next()?;
    let (offset, second) = characters.next()?;
    if first != '\\' {
        return (second == '\'').then_some(offset + 1);
    }
    // `second` is the escaped character, which may be the quote itself.
    characters.find(|(_, character)| *character == '\'').map(|(offset, _)| offset + 1)
}

fn raw_string(rest: &str) -> Option<Literal> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix).unwrap_or("");
        after.trim_start_matches('#').starts_with('"')
    })?;
    let after = rest.strip_prefix(prefix)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let opening = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = rest.get(opening..)?;
    let (length, closing) = match inside.find(&end) {
        Some(found) => (opening + found + end.len(), end.len()),
        None => (rest.len(), 0),
    };
    Some(Literal { length, opening, closing })
}

fn spaces(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests;
