//! Places in a log, and the tokens of its owners.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a record within its log. The first is 0; there are no gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(u64);

impl Sequence {
    /// The place of a log's first record, and the end of an empty log.
    pub const START: Self = Self(0);

    /// The place with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The place so many records later; the last possible one where there are not so many numbers.
    #[must_use]
    pub fn after(self, records: usize) -> Self {
        Self(self.0.saturating_add(u64::try_from(records).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Tells the claims of one log apart: the later claim has the greater token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The token of a log's first claim.
    pub const FIRST: Self = Self(1);

    /// The token with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The token of the next claim.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
