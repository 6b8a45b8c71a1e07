//! Words and signs of the code of a file, enough to find declarations and attributes.

/// A word or a single sign, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// In bytes from the start of the file.
    pub(super) offset: usize,
}

/// Splits code, as [`super::source::code_only`] gives it, into words and single signs.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|character| !is_word(character)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if !first.is_whitespace() {
            tokens.push(Token { text, offset: code.len() - rest.len() });
        }
        rest = after;
    }
    tokens
}

/// The tokens between a bracket at the start and the one that closes it.
pub(super) fn bracketed<'a, 'b>(tokens: &'b [Token<'a>]) -> &'b [Token<'a>] {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return tokens.get(1..index).unwrap_or_default();
        }
    }
    tokens.get(1..).unwrap_or_default()
}

/// Whether tokens begin with these texts.
pub(super) fn begin_with(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len() && tokens.iter().zip(texts).all(|(token, text)| token.text == *text)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
