//! Text of others, made harmless for Markdown and HTML.

use std::fmt::Write as _;

use crate::text::is_hidden;

/// The text as one line that renders as itself and as nothing else.
///
/// No character of it can begin a heading, a list, a link, an image, emphasis, code, a table, an entity or a tag,
/// whatever stands before it on the line. White space of any kind becomes one space, and characters that move or
/// hide others become visible escapes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !escaped.is_empty() {
            escaped.push(' ');
        }
        let is_first = escaped.is_empty();
        escape_word(word, is_first, &mut escaped);
    }
    escaped
}

fn escape_word(word: &str, is_first: bool, escaped: &mut String) {
    // A line may begin with the text, and these are special there only: bullets, numbers, definitions, rules.
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    for (offset, character) in word.char_indices() {
        let begins_block = is_first
            && match character {
                '-' | '+' | '=' | ':' | '%' => offset == 0,
                '.' | ')' => offset == digits,
                _ => false,
            };
        // Without the first `:` or `.` there is no bare link to be made.
        let begins_link = match character {
            ':' => {
                word.get(offset..).is_some_and(|rest| rest.starts_with("://")) || is_mail_scheme(word, offset)
            }
            '.' => word.get(..offset).is_some_and(|before| {
                before.len() >= 3
                    && before.get(before.len() - 3..).is_some_and(|www| www.eq_ignore_ascii_case("www"))
            }),
            _ => false,
        };
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '!' | '|' | '~' | '$' | '^' | '@'
            | '"' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ if begins_block || begins_link => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ if is_hidden(character) => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "U+{:04X}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
}

fn is_mail_scheme(word: &str, colon: usize) -> bool {
    word.get(..colon).is_some_and(|before| {
        let before = before.to_ascii_lowercase();
        before.ends_with("mailto") || before.ends_with("xmpp")
    })
}
