//! Ids as names of files and folders.

use sha2::{Digest as _, Sha256};

/// The longest escaped name that is used whole: below the 255 bytes that file systems allow, with room for an ending.
const LONGEST: usize = 200;

/// How much of a longer one is kept, for people.
const KEPT: usize = 100;

/// Stands before the digest in a name that was too long; it is escaped everywhere else.
const CUT: char = '~';

/// The name of a file for an id: lower-case letters, digits, `-` and `_` as they are, a dot but for the first place, all
/// else as `%` and two hexadecimal digits a byte. Upper case is escaped too, as there are file systems that take `A` and
/// `a` for the same. An id whose name would be too long ends in a digest of it.
pub(super) fn escape(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            _ => {
                name.push('%');
                push_hex(&mut name, byte);
            }
        }
    }
    if name.len() <= LONGEST {
        return name;
    }
    name.truncate(KEPT);
    name.push(CUT);
    Sha256::digest(id).iter().for_each(|&byte| push_hex(&mut name, byte));
    name
}

/// What a name says of its id.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unescaped {
    Id(String),
    /// The id was too long for a name; it stands in the file.
    Cut,
    /// [`escape`] does not give such a name.
    Foreign,
}

pub(super) fn unescape(name: &str) -> Unescaped {
    if name.contains(CUT) {
        return Unescaped::Cut;
    }
    let id = parse(name).and_then(|bytes| String::from_utf8(bytes).ok());
    id.filter(|id| escape(id) == name).map_or(Unescaped::Foreign, Unescaped::Id)
}

fn parse(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

fn push_hex(name: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        name.extend(char::from_digit(u32::from(digit), 16));
    }
}

#[cfg(test)]
mod tests;
