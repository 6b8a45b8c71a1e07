//! What an owner holds.

use tokio::time::Instant;

use super::{FencingToken, Sequence};

/// The right to write one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// What each write shows.
    pub token: FencingToken,
    /// The end of the log: the place that the next record gets.
    pub next: Sequence,
    /// When another may take the claim, on tokio's clock; `None` where claims do not end by time.
    pub expires: Option<Instant>,
}

impl Claim {
    /// A claim that does not end by time.
    pub fn new(token: FencingToken, next: Sequence) -> Self {
        Self { token, next, expires: None }
    }

    /// Says when another may take it.
    #[must_use]
    pub fn expiring_at(mut self, expires: Instant) -> Self {
        self.expires = Some(expires);
        self
    }
}
