//! The file of a snapshot: what its owner says the log comes to, and what the log remembers.

use convoke_core::{FencingToken, LogId, Sequence, Snapshot};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    bytes::{Reader, Writer},
    segment::Damage,
};
use crate::tail::{Tail, Written};

const MARKER: [u8; 8] = *b"cjsnap\0\x01";

/// A snapshot as it is stored. It ends in a checksum over all of it.
#[derive(Debug)]
pub(super) struct StoredSnapshot {
    pub(super) token: FencingToken,
    pub(super) snapshot: Snapshot,
    /// The log at its end, as it was then.
    pub(super) tail: Tail,
}

pub(super) fn encode(
    log: &LogId,
    salt: u64,
    token: FencingToken,
    snapshot: &Snapshot,
    tail: &Tail,
) -> Vec<u8> {
    let mut writer = Writer(MARKER.to_vec());
    writer.u64(salt);
    writer.u64(snapshot.upto.get());
    writer.u64(token.get());
    writer.bytes(log.as_str().as_bytes());
    writer.u32(tail.commits.len());
    for (id, written) in tail.commits.iter() {
        writer.bytes(id.as_str().as_bytes());
        writer.u64(written.first.get());
        writer.u64(written.next.get());
        writer.u64(written.digest);
    }
    writer.u32(tail.taken.len());
    tail.taken.iter().for_each(|(id, ())| writer.bytes(id.as_str().as_bytes()));
    writer.records(&snapshot.records);
    writer.u64(xxh3_64_with_seed(&writer.0, salt));
    writer.0
}

/// Reads a snapshot that is to stand for all before `upto`.
pub(super) fn decode(bytes: &[u8], log: &LogId, upto: Sequence) -> Result<StoredSnapshot, Damage> {
    let invalid = Damage::new(0, "is no valid snapshot");
    let (checked, checksum) = bytes.split_last_chunk::<8>().ok_or_else(|| invalid.clone())?;
    let mut reader = Reader(checked);
    if reader.array() != Some(MARKER) {
        return Err(invalid);
    }
    let salt = reader.u64().ok_or_else(|| invalid.clone())?;
    if xxh3_64_with_seed(checked, salt) != u64::from_le_bytes(*checksum) {
        return Err(invalid);
    }
    let (of, stored) = body(&mut reader).filter(|_| reader.is_at_end()).ok_or(invalid)?;
    if of != *log {
        return Err(Damage::new(0, "belongs to another log"));
    }
    if stored.snapshot.upto != upto {
        return Err(Damage::new(0, "ends at another record than its name says"));
    }
    Ok(stored)
}

fn body(reader: &mut Reader<'_>) -> Option<(LogId, StoredSnapshot)> {
    let upto = Sequence::new(reader.u64()?);
    let token = FencingToken::new(reader.u64()?);
    let log = reader.id()?;
    let mut tail = Tail::new(upto);
    for _ in 0..reader.u32()? {
        let id = reader.id()?;
        let (first, next, digest) = (reader.u64()?, reader.u64()?, reader.u64()?);
        tail.commits.insert(id, Written { first: Sequence::new(first), next: Sequence::new(next), digest });
    }
    reader.signals()?.into_iter().for_each(|id| tail.taken.insert(id, ()));
    let snapshot = Snapshot::new(upto, reader.records()?);
    Some((log, StoredSnapshot { token, snapshot, tail }))
}
