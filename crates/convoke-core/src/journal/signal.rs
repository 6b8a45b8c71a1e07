//! What anybody may tell the owner of a log.

use super::Record;
use crate::SignalId;

/// A word to the owner of a log: an approval, an answer, a wish to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// Under which a repeat changes nothing.
    pub id: SignalId,
    /// What it says, in the words of the owner.
    pub body: Record,
}

impl Signal {
    /// A signal.
    pub fn new(id: SignalId, body: impl Into<Record>) -> Self {
        Self { id, body: body.into() }
    }
}
