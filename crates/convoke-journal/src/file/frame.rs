//! One frame: what is written to a segment at once.
//!
//! ```text
//! 0   3  marker "cjf"        8  sequence of the first record      24  8  checksum of the body
//! 3   1  version and kind   16  token                             32  8  checksum of the 32 bytes before
//! 4   4  length of the body                                       40     body
//! ```
//!
//! Both checksums are XXH3 seeded with the salt of the segment, so that nobody who does not know it can write a record that
//! looks like a frame. The body is one commit after the other.

use convoke_core::{Commit, CommitId, FencingToken, Record, Sequence, SignalId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bytes::{Reader, Writer};

const MARKER: [u8; 3] = *b"cjf";

/// How the fourth byte says that nothing follows this frame before it is durable.
const STRICT: u8 = 0x11;

/// How it says that what follows may be written before this frame is durable.
const RELAXED: u8 = 0x10;

const CHECKED: usize = 32;

/// The bytes before the body.
pub(super) const HEADER_BYTES: usize = CHECKED + 8;

/// What is written at once, commits and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) first: Sequence,
    pub(super) token: FencingToken,
    /// Nothing is written behind it before it is durable.
    pub(super) is_strict: bool,
    body: &'a [u8],
}

/// A commit as it is read back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredCommit {
    pub(super) id: CommitId,
    pub(super) taken: Vec<SignalId>,
    pub(super) records: Vec<Record>,
}

/// A commit as a part of a body.
pub(super) fn encode_commit(commit: &Commit) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes(commit.id.as_str().as_bytes());
    writer.signals(commit.taken.iter());
    writer.records(&commit.records);
    writer.0
}

impl<'a> Frame<'a> {
    pub(super) fn new(first: Sequence, token: FencingToken, is_strict: bool, body: &'a [u8]) -> Self {
        Self { first, token, is_strict, body }
    }

    pub(super) fn encode(self, salt: u64) -> Vec<u8> {
        let mut writer = Writer(Vec::with_capacity(HEADER_BYTES + self.body.len()));
        writer.0.extend_from_slice(&MARKER);
        writer.0.push(if self.is_strict { STRICT } else { RELAXED });
        writer.u32(self.body.len());
        writer.u64(self.first.get());
        writer.u64(self.token.get());
        writer.u64(xxh3_64_with_seed(self.body, salt));
        writer.u64(xxh3_64_with_seed(&writer.0, salt));
        writer.0.extend_from_slice(self.body);
        writer.0
    }

    /// The frame at the start of `bytes`, where a whole one is there.
    pub(super) fn decode(bytes: &'a [u8], salt: u64) -> Option<Self> {
        let mut reader = Reader(bytes);
        let checked = bytes.get(..CHECKED)?;
        if reader.array()? != MARKER {
            return None;
        }
        let is_strict = match reader.array()? {
            [STRICT] => true,
            [RELAXED] => false,
            _ => return None,
        };
        let length = reader.u32()?;
        let first = Sequence::new(reader.u64()?);
        let token = FencingToken::new(reader.u64()?);
        let body_checksum = reader.u64()?;
        if reader.u64()? != xxh3_64_with_seed(checked, salt) {
            return None;
        }
        let body = reader.take(length)?;
        (xxh3_64_with_seed(body, salt) == body_checksum).then_some(Self { first, token, is_strict, body })
    }

    pub(super) fn bytes(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }

    /// What is in it; `None` where it is whole and yet says nothing that was ever written.
    pub(super) fn commits(&self) -> Option<Vec<StoredCommit>> {
        let mut reader = Reader(self.body);
        let mut commits = Vec::new();
        while !reader.is_at_end() {
            let (id, taken, records) = (reader.id()?, reader.signals()?, reader.records()?);
            commits.push(StoredCommit { id, taken, records });
        }
        Some(commits)
    }
}

/// Whether a whole frame begins anywhere in `bytes` that belongs at `from` or further on.
pub(super) fn is_any_in(bytes: &[u8], salt: u64, from: Sequence) -> bool {
    let mut rest = bytes;
    loop {
        let Some(start) = rest.windows(MARKER.len()).position(|window| window == MARKER) else {
            return false;
        };
        let Some(candidate) = rest.get(start..) else { return false };
        // A record may hold a copy of an earlier frame; none that is still to come.
        if Frame::decode(candidate, salt).is_some_and(|frame| frame.first >= from) {
            return true;
        }
        rest = candidate.get(1..).unwrap_or_default();
    }
}
