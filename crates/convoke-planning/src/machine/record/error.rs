//! Why what is durable of a run cannot be read or written.

use crate::machine::RECORD_VERSION;

/// Why a record, or a text of a snapshot, cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record was written in another version of the form.
    #[error(
        "record has version {version} and this version reads {RECORD_VERSION}; use a version of the SDK that reads it"
    )]
    OtherVersion {
        /// Its version.
        version: u64,
    },
    /// It is no record. The source says where and why.
    #[error("record cannot be read; the journal is not that of a plan, or it is damaged")]
    Malformed(#[source] serde_json::Error),
    /// A snapshot has not the texts that its first one speaks of.
    #[error("snapshot has {found} steps and speaks of {wanted}; read all its texts, and no other")]
    OtherLength {
        /// How many steps its first text speaks of.
        wanted: u64,
        /// How many there are.
        found: u64,
    },
    /// Something in it nests so deep that it could not be read again.
    #[error("record nests deeper than 127 levels; make what is in it flatter")]
    TooDeep,
    /// It cannot be written as JSON. The source says why.
    #[error("record cannot be written as JSON; mend what the source names")]
    Unwritable(#[source] serde_json::Error),
}
