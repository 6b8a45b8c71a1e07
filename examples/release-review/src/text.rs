//! Checks for text that people and files hand in, before it is kept.

/// Why a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("must not be blank")]
    Blank,
    /// More characters than allowed.
    #[error("has {length} characters, at most {limit} are allowed")]
    TooLong {
        /// The characters of the text.
        length: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// A control character that could rewrite a terminal or a file.
    #[error("must not hold the control character U+{code:04X}")]
    Control {
        /// The character's code point.
        code: u32,
    },
}

/// Accepts one line: not blank, no control character at all.
pub(crate) fn check_line(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, char::is_control)
}

/// Accepts prose: not blank, no control character but newline and tab.
pub(crate) fn check_prose(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, |character| character.is_control() && !matches!(character, '\n' | '\t'))
}

/// One line for a person: control characters become visible escapes, and the end is cut with an ellipsis.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == limit {
            line.push('…');
            break;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

fn check(text: &str, limit: usize, refused: impl Fn(char) -> bool) -> Result<(), TextError> {
    if text.trim().is_empty() {
        return Err(TextError::Blank);
    }
    let length = text.chars().count();
    if length > limit {
        return Err(TextError::TooLong { length, limit });
    }
    match text.chars().find(|&character| refused(character)) {
        Some(character) => Err(TextError::Control { code: u32::from(character) }),
        None => Ok(()),
    }
}
