//! Ids made from other ids, such that two different lists of parts never give the same id.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{MAX_ID_BYTES, MessageId, TaskId};

/// The bytes of a hexadecimal SHA-256.
const DIGEST_BYTES: usize = 64;

/// Joins `parts` with `/` into the text of an id.
///
/// A `/`, `%` or `~` inside a part is written as `%2F`, `%25`, `%7E`, so that the parts can be told apart. A text of
/// more than 256 bytes keeps a prefix, then `~`, then the SHA-256 of the whole in hexadecimal: since `~` is escaped
/// everywhere else, a shortened id never equals a plain one. From parts that are ids, it is an id. From no parts it is
/// empty, which is no id.
///
/// ```
/// use convoke_core::derived_id;
///
/// assert_eq!(derived_id(["draft", "1", "input"]), "draft/1/input");
/// assert_eq!(derived_id(["a/b", "c"]), "a%2Fb/c");
/// assert_ne!(derived_id(["x".repeat(300), "1".into()]), derived_id(["x".repeat(300), "2".into()]));
/// assert_eq!(derived_id(["x".repeat(300)]).len(), 256);
/// ```
pub fn derived_id<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut text = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            text.push('/');
        }
        for character in part.as_ref().chars() {
            match character {
                '/' => text.push_str("%2F"),
                '%' => text.push_str("%25"),
                '~' => text.push_str("%7E"),
                other => text.push(other),
            }
        }
    }
    if text.len() > MAX_ID_BYTES { shorten(&text) } else { text }
}

fn shorten(text: &str) -> String {
    let keep = text.floor_char_boundary(MAX_ID_BYTES - DIGEST_BYTES - 1);
    let mut short = String::with_capacity(MAX_ID_BYTES);
    // Trailing blanks are legal inside an id, and the `~` that follows keeps them inside.
    short.push_str(text.get(..keep).unwrap_or_default());
    short.push('~');
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a `String` cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

/// Where in its attempt a message stands; `0` is the first of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptPart {
    /// What the attempt was given: the input, then the request's messages.
    Input(usize),
    /// What the attempt gave: the output, then its further messages.
    Output(usize),
}

impl MessageId {
    /// The id of a message of the host: `host/<sequence>`. It never equals one of an attempt, which has three parts or
    /// more, or a `~`, whatever its task is called.
    pub fn of_host(sequence: u64) -> Self {
        Self::from_generated(&derived_id(["host", &sequence.to_string()]))
    }

    /// The id of a message of an attempt: `<task>/<attempt>/input`, and `<task>/<attempt>/input/1` for the next one.
    pub fn of_attempt(task: &TaskId, attempt: u32, part: AttemptPart) -> Self {
        let (kind, index) = match part {
            AttemptPart::Input(index) => ("input", index),
            AttemptPart::Output(index) => ("output", index),
        };
        let attempt = attempt.to_string();
        let text = if index == 0 {
            derived_id([task.as_str(), &attempt, kind])
        } else {
            derived_id([task.as_str(), &attempt, kind, &index.to_string()])
        };
        Self::from_generated(&text)
    }
}
