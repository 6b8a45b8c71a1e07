//! What a journal says about itself.

/// What a journal says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalCapabilities {
    /// What is answered as durable survives the process. `false` unless set.
    pub durable: bool,
    /// A claim that is not renewed in time can be taken by another, who fences the old owner. `false` unless set: a claim
    /// then lasts as long as its process.
    pub ttl_claims: bool,
    /// How many of its latest commits, and how many of the signals that were taken last, a log remembers by their ids.
    pub remembered: usize,
}

impl JournalCapabilities {
    /// A journal that is not durable, without claims that end by time, and remembers so many ids.
    pub fn remembering(remembered: usize) -> Self {
        Self { durable: false, ttl_claims: false, remembered }
    }

    /// Says that what is answered survives the process.
    #[must_use]
    pub fn with_durability(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Says that claims end by time.
    #[must_use]
    pub fn with_ttl_claims(mut self) -> Self {
        self.ttl_claims = true;
        self
    }
}
