//! Text and attributes of an XML file that may break the standard where nobody looks.

use std::{borrow::Cow, ops::Range};

use quick_xml::{XmlVersion, events::BytesStart};

/// More attributes than any runner writes on one tag.
const MAX_ATTRIBUTES: usize = 64;

/// The text of a file, with the places where its bytes were no UTF-8.
#[derive(Debug)]
pub(super) struct Markup<'a> {
    text: Cow<'a, str>,
    invalid: Vec<usize>,
}

impl<'a> Markup<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self { text: Cow::Borrowed(text), invalid: Vec::new() };
        }
        let mut text = String::with_capacity(bytes.len());
        let mut invalid = Vec::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                invalid.push(text.len());
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Self { text: Cow::Owned(text), invalid }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The first place in the range where the bytes were no UTF-8.
    pub(super) fn invalid_within(&self, start: usize, end: usize) -> Option<usize> {
        let Range { start, end } = start..end;
        let next = self.invalid.partition_point(|&offset| offset < start);
        self.invalid.get(next).copied().filter(|&offset| offset < end)
    }
}

/// The values of some attributes of a tag, in the order of the keys.
pub(super) fn attributes<const N: usize>(
    tag: &BytesStart<'_>,
    keys: [&str; N],
) -> Result<[Option<String>; N], String> {
    let mut values = [const { None }; N];
    for (count, attribute) in tag.attributes().enumerate() {
        let attribute = attribute.map_err(|error| format!("has a malformed attribute: {error}"))?;
        // The check for repeated names compares each with each, so their number has to be small.
        if count == MAX_ATTRIBUTES {
            return Err(format!("has a tag with more than {MAX_ATTRIBUTES} attributes"));
        }
        let key = attribute.key.as_ref();
        let Some(slot) =
            keys.iter().position(|wanted| *wanted == key).and_then(|index| values.get_mut(index))
        else {
            continue;
        };
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| format!("has a malformed value of `{key}`: {error}"))?;
        if let Some(character) = value.chars().find(|&character| !is_xml_char(character)) {
            return Err(format!(
                "has the character U+{:04X} in `{key}`, which xml does not allow",
                u32::from(character)
            ));
        }
        *slot = Some(value.into_owned());
    }
    Ok(values)
}

/// Whether XML 1.0 allows the character.
pub(super) fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
