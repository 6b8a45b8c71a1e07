//! Foreign texts in messages.

/// How many characters of a foreign text a message tells.
const TOLD: usize = 80;

/// A text that anybody may have written, in backticks: control characters escaped, and cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    let end = text.char_indices().nth(TOLD).map_or(text.len(), |(end, _)| end);
    let (told, rest) = text.split_at(end);
    let more = if rest.is_empty() { "" } else { ".." };
    format!("`{}{more}`", told.escape_debug())
}
