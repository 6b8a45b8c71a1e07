//! The text of a file of the evidence.

use super::{error::EvidenceError, lines::line_of};

/// The bytes as text, without a byte order mark.
pub(crate) fn source_text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, EvidenceError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_of(bytes, error.valid_up_to());
        EvidenceError::malformed(file, line, "is not utf-8 here: save the file as utf-8")
    })?;
    if let Some(offset) = text.find('\0') {
        let line = line_of(bytes, offset);
        return Err(EvidenceError::malformed(file, line, "holds a NUL byte, so it is no text"));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
