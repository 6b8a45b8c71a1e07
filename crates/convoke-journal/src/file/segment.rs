//! A segment: the frames from one place of the log on.

use convoke_core::{FencingToken, LogId, Sequence};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    bytes::{Reader, Writer},
    frame::{self, Frame, StoredCommit},
};
use crate::limits;

const MARKER: [u8; 8] = *b"cjseg\0\0\x01";

/// What stands before the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// Random for each segment.
    pub(super) salt: u64,
    /// The place of its first record.
    pub(super) first: Sequence,
    pub(super) log: LogId,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer(MARKER.to_vec());
        writer.u64(self.salt);
        writer.u64(self.first.get());
        writer.bytes(self.log.as_str().as_bytes());
        writer.u64(xxh3_64_with_seed(&writer.0, self.salt));
        writer.0
    }

    /// The header at the start of `bytes`, and how long it is.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader(bytes);
        if reader.array()? != MARKER {
            return None;
        }
        let (salt, first, log) = (reader.u64()?, reader.u64()?, reader.id()?);
        let length = bytes.len() - reader.0.len();
        (reader.u64()? == xxh3_64_with_seed(bytes.get(..length)?, salt))
            .then_some((Self { salt, first: Sequence::new(first), log }, length + 8))
    }
}

/// What is in a segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) salt: u64,
    pub(super) commits: Vec<StoredCommit>,
    /// What is known to be durable: all up to the last strict frame that something follows.
    pub(super) durable: Extent,
    /// All up to the last strict frame, which is durable only if its writer lived to see it.
    strict: Extent,
    /// Where the last whole frame ends.
    pub(super) end: usize,
    /// What follows is the beginning of a frame, or nothing that was ever a frame.
    pub(super) is_torn: bool,
    /// The place behind the last record.
    pub(super) next: Sequence,
    /// The greatest token in it.
    pub(super) token: FencingToken,
}

/// The first part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) commits: usize,
    /// In bytes, the header counted in.
    pub(super) end: usize,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) offset: usize,
    pub(super) problem: &'static str,
}

impl Damage {
    pub(super) fn new(offset: usize, problem: &'static str) -> Self {
        Self { offset, problem }
    }
}

impl Segment {
    /// Reads a segment that is to begin at `first`.
    pub(super) fn read(bytes: &[u8], log: &LogId, first: Sequence) -> Result<Self, Damage> {
        let (header, start) =
            SegmentHeader::decode(bytes).ok_or(Damage::new(0, "has no valid header of a segment"))?;
        if header.log != *log {
            return Err(Damage::new(0, "belongs to another log"));
        }
        if header.first != first {
            return Err(Damage::new(0, "begins at another record than its name says"));
        }
        let salt = header.salt;
        let mut segment = Self {
            salt,
            commits: Vec::new(),
            durable: Extent { commits: 0, end: start },
            strict: Extent { commits: 0, end: start },
            end: start,
            is_torn: false,
            next: first,
            token: FencingToken::new(0),
        };
        while let Some(rest) = bytes.get(segment.end..).filter(|rest| !rest.is_empty()) {
            let Some(frame) = Frame::decode(rest, salt) else {
                if frame::is_any_in(rest.get(1..).unwrap_or_default(), salt, segment.next) {
                    return Err(Damage::new(segment.end, "has an invalid frame before a valid one"));
                }
                segment.is_torn = true;
                break;
            };
            segment.push(&frame)?;
        }
        Ok(segment)
    }

    fn push(&mut self, frame: &Frame<'_>) -> Result<(), Damage> {
        if frame.first != self.next {
            return Err(Damage::new(self.end, "has a frame that belongs elsewhere"));
        }
        if frame.token < self.token {
            return Err(Damage::new(self.end, "has a frame of an owner whose time was over"));
        }
        let commits = frame.commits().ok_or(Damage::new(self.end, "has a frame that says nothing"))?;
        for commit in &commits {
            if !limits::is_room(self.next, commit.records.len()) {
                return Err(Damage::new(self.end, "has more records than there are numbers"));
            }
            self.next = self.next.after(commit.records.len());
        }
        self.commits.extend(commits);
        self.token = frame.token;
        self.end += frame.bytes();
        self.durable = self.strict;
        if frame.is_strict {
            self.strict = Extent { commits: self.commits.len(), end: self.end };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
