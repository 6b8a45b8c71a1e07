//! The lock of a log: who holds it, under which token, and whether the log was deleted.
//!
//! The file is made with the log and never renamed; whoever has the operating system's lock of it is the owner. In it are two
//! slots that are written by turns, so that a write that is cut short leaves the other one.

use std::io;

use convoke_core::{FencingToken, OwnerId};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    bytes::{Reader, Writer},
    files::OpenFile,
};

const MARKER: [u8; 3] = *b"cjl";
const VERSION: u8 = 1;
const SLOT_BYTES: usize = 512;

/// What the latest claim wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) token: FencingToken,
    pub(super) state: LogState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    Claimed(OwnerId),
    /// What is still in the folder is to be removed.
    Deleted,
}

/// The latest valid slot.
pub(super) fn latest(bytes: &[u8]) -> Option<Slot> {
    bytes.chunks(SLOT_BYTES).take(2).filter_map(decode).max_by_key(|slot| slot.token)
}

pub(super) fn write(file: &dyn OpenFile, slot: &Slot) -> io::Result<()> {
    let place = slot.token.get() % 2 * SLOT_BYTES as u64;
    file.write_at(place, &encode(slot))?;
    file.sync()
}

fn encode(slot: &Slot) -> Vec<u8> {
    let mut writer = Writer(MARKER.to_vec());
    writer.0.push(VERSION);
    writer.u64(slot.token.get());
    match &slot.state {
        LogState::Claimed(owner) => {
            writer.0.push(0);
            writer.bytes(owner.as_str().as_bytes());
        }
        LogState::Deleted => {
            writer.0.push(1);
            writer.bytes(&[]);
        }
    }
    writer.u64(xxh3_64(&writer.0));
    writer.0.resize(SLOT_BYTES, 0);
    writer.0
}

fn decode(bytes: &[u8]) -> Option<Slot> {
    let mut reader = Reader(bytes);
    if reader.array()? != MARKER || reader.array()? != [VERSION] {
        return None;
    }
    let token = FencingToken::new(reader.u64()?);
    let [state] = reader.array()?;
    let owner = reader.bytes()?;
    let length = bytes.len() - reader.0.len();
    if reader.u64()? != xxh3_64(bytes.get(..length)?) {
        return None;
    }
    let state = match state {
        0 => LogState::Claimed(OwnerId::new(std::str::from_utf8(owner).ok()?).ok()?),
        _ => LogState::Deleted,
    };
    Some(Slot { token, state })
}

#[cfg(test)]
mod tests;
