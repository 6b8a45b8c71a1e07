//! The lines of an iCalendar file: folded, named, with parameters (RFC 5545, section 3.1).
//!
//! The parsers at hand give no line numbers, and one of them recurses as deep as the file asks for.

/// One unfolded line, with the number of its first physical line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentLine {
    /// In upper case.
    pub(super) name: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) value: String,
    pub(super) line: u64,
}

impl ContentLine {
    /// The value of a parameter; the name in upper case.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The unfolded lines of a file, or the line and the reason of the first that is none.
pub(super) fn content_lines(text: &str) -> Result<Vec<ContentLine>, (u64, &'static str)> {
    let mut unfolded: Vec<(u64, String)> = Vec::new();
    for (number, physical) in (1_u64..).zip(text.lines()) {
        match (physical.strip_prefix([' ', '\t']), unfolded.last_mut()) {
            (Some(rest), Some((_, line))) => line.push_str(rest),
            (Some(_), None) => return Err((number, "continues a line that was never begun")),
            (None, _) if physical.is_empty() => {}
            (None, _) => unfolded.push((number, physical.to_owned())),
        }
    }
    unfolded
        .into_iter()
        .map(|(number, line)| {
            let reason = "is no calendar line of the form NAME:VALUE or NAME;PARAMETER=..:VALUE";
            parse(&line, number).ok_or((number, reason))
        })
        .collect()
}

fn parse(text: &str, line: u64) -> Option<ContentLine> {
    let (name, mut rest) = text.split_at_checked(text.find([':', ';'])?)?;
    let mut parameters = Vec::new();
    while let Some(parameter) = rest.strip_prefix(';') {
        let (key, after_key) = parameter.split_once('=')?;
        let value_end = end_of_value(after_key)?;
        let (value, after) = after_key.split_at_checked(value_end)?;
        if !is_name(key) {
            return None;
        }
        parameters.push((key.to_ascii_uppercase(), value.trim_matches('"').to_owned()));
        rest = after;
    }
    let value = rest.strip_prefix(':')?.to_owned();
    is_name(name).then(|| ContentLine { name: name.to_ascii_uppercase(), parameters, value, line })
}

/// The first `;` or `:` that does not stand in quotes.
fn end_of_value(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.find(|character| {
        quoted ^= character == '"';
        !quoted && matches!(character, ';' | ':')
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
