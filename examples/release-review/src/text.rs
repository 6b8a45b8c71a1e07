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
    /// A character that hides text or turns its direction.
    #[error("must not hold U+{code:04X}, which hides text or turns its direction")]
    Hidden {
        /// The character's code point.
        code: u32,
    },
}

/// Accepts one line: not blank, no hidden character at all.
pub(crate) fn check_line(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, is_hidden)
}

/// Accepts lines: not blank, no hidden character but newline and tab.
pub(crate) fn check_lines(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, |character| is_hidden(character) && !is_layout(character))
}

/// Accepts a person's name: not blank, no control character.
///
/// Some scripts need joiners to spell a name; they are escaped where it is shown.
pub(crate) fn check_name(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, char::is_control)
}

/// Accepts an agent's prose: not blank, no control character but newline and tab.
///
/// An emoji may bring hidden characters along; they are escaped where the prose is shown.
pub(crate) fn check_prose(text: &str, limit: usize) -> Result<(), TextError> {
    check(text, limit, |character| character.is_control() && !is_layout(character))
}

/// Whether the character is a control, or turns the direction of a text, breaks its line or takes no room in it.
///
/// These are the code points that Unicode lets a program ignore in display, and those that break lines or annotate.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text as one line in which hidden characters are visible escapes, as a terminal may show it.
pub fn visible(text: &str) -> String {
    one_line(text, usize::MAX)
}

/// One line for a person: hidden characters become visible escapes, and the end is cut with an ellipsis.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == limit {
            line.push('…');
            break;
        }
        if is_hidden(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t')
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
        Some(character) if character.is_control() => Err(TextError::Control { code: u32::from(character) }),
        Some(character) => Err(TextError::Hidden { code: u32::from(character) }),
        None => Ok(()),
    }
}
