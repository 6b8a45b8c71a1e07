//! Ids made from other ids, such that two different lists of parts never give the same id.

use std::fmt::{self, Write as _};

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
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return String::new() };
    parts.fold(Derived::of(first.as_ref()), |id, part| id.with(part.as_ref())).into_text()
}

/// An id in the making.
struct Derived(String);

/// Most ids are shorter, so that they are made in one allocation.
const USUAL_BYTES: usize = 64;

impl Derived {
    fn of(first: &str) -> Self {
        let mut id = Self(String::with_capacity(USUAL_BYTES));
        id.push(first);
        id
    }

    fn with(mut self, part: &str) -> Self {
        self.0.push('/');
        self.push(part);
        self
    }

    fn with_number(mut self, number: impl fmt::Display) -> Self {
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, "/{number}");
        self
    }

    fn push(&mut self, part: &str) {
        if !part.bytes().any(|byte| matches!(byte, b'/' | b'%' | b'~')) {
            self.0.push_str(part);
            return;
        }
        for character in part.chars() {
            match character {
                '/' => self.0.push_str("%2F"),
                '%' => self.0.push_str("%25"),
                '~' => self.0.push_str("%7E"),
                other => self.0.push(other),
            }
        }
    }

    fn into_text(self) -> String {
        if self.0.len() > MAX_ID_BYTES { shorten(&self.0) } else { self.0 }
    }
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
        Self::from_generated(&Derived::of("host").with_number(sequence).into_text())
    }

    /// The id of a message of an attempt: `<task>/<attempt>/input`, and `<task>/<attempt>/input/1` for the next one.
    pub fn of_attempt(task: &TaskId, attempt: u32, part: AttemptPart) -> Self {
        let (kind, index) = match part {
            AttemptPart::Input(index) => ("input", index),
            AttemptPart::Output(index) => ("output", index),
        };
        let id = Derived::of(task.as_str()).with_number(attempt).with(kind);
        let id = if index == 0 { id } else { id.with_number(index) };
        Self::from_generated(&id.into_text())
    }
}
