//! Journals: logs of records that outlive a process, each written by one owner at a time.
//!
//! Sessions, plans and loops are kept as logs, each with a codec of its own, over whatever implements
//! [`Journal`](convoke_core::Journal). Two journals are here: [`MemoryJournal`], whose claims end by time, and
//! [`FileJournal`], which keeps a folder for each log.
//!
//! ```
//! use std::time::Duration;
//!
//! use convoke_core::{Commit, CommitId, Journal, LogId, OwnerId, ReadFrom, Sequence};
//! use convoke_journal::FileJournal;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("journal");
//! let journal = FileJournal::open(&folder).await?;
//! let (log, owner) = (LogId::new("plan/7")?, OwnerId::new("host-1")?);
//! journal.create(&log).await?;
//!
//! let claim = journal.claim(&log, &owner, Duration::from_secs(30)).await?;
//! let commit = Commit::new(CommitId::new("c0")?, claim.token, Sequence::START)
//!     .with_record("a completed")
//!     .with_record("b started");
//! // On the disk once it is answered.
//! let committed = journal.append(&log, commit.clone()).await?;
//! assert_eq!(committed.next, Sequence::new(2));
//! // Whoever has lost the answer asks again.
//! assert_eq!(journal.append(&log, commit).await?, committed);
//! journal.release(&log, claim.token).await?;
//! drop(journal);
//!
//! let contents = FileJournal::open(&folder).await?.read(&log, ReadFrom::Latest).await?;
//! assert_eq!(contents.records[1].as_bytes(), b"b started");
//! # Ok(())
//! # }
//! ```
//!
//! This crate does not know what a record means: what a log comes to, its owner says in a snapshot. It has no thread of
//! its own and no task that goes on without being awaited, encrypts nothing, and copies nothing to other machines.
//!
//! | where | what |
//! |---|---|
//! | `memory` | the journal in memory |
//! | `file` | the journal in files: what is on the disk, who holds it, how it is written |
//! | `tail`, `recent` | the end of a log: what may follow, what is a repeat |
//! | `growth`, `retain`, `limits`, `refusal` | when a compaction pays, what it keeps, how large things may be, what is refused |

mod file;
mod growth;
mod limits;
mod memory;
mod recent;
mod refusal;
mod retain;
mod tail;

pub use file::{FileJournal, FileJournalBuilder};
pub use growth::COMPACT_AT_LEAST;
pub use limits::{MAX_COMMIT_BYTES, MAX_SIGNAL_BYTES, MAX_SNAPSHOT_BYTES, MAX_WAITING_SIGNALS, REMEMBERED};
pub use memory::MemoryJournal;
pub use retain::Retain;
