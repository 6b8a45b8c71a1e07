//! Reviews a release from real evidence and writes a report whose every fact can be traced to a file and a line.
//!
//! A completed review may conclude that the release is blocked. It never releases anything, and no verdict comes
//! from prose: each is computed from the facts, and an answer has to agree with them.
//!
//! ```
//! use release_review::{Evidence, roles};
//!
//! let evidence = Evidence::open("evidence/blocked".as_ref())?;
//! let facts = evidence.facts("2026-12-01T00:00:00Z".parse()?);
//! let engineering = facts.scope(roles::ENGINEERING).ok_or("no such specialist")?;
//! assert_eq!(engineering.facts()[0].text, "48 of 50 tests passed, 2 failed");
//! assert_eq!(engineering.verdict(), release_review::Verdict::Blocked);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Review`] does all of it: it opens the evidence, asks a team of agents, and publishes. Its steps are public too, for
//! whoever wants to drive them; each takes what the one before gave:
//!
//! 1. [`Evidence::open`] reads a directory, whole and without following links, and refuses what it cannot judge.
//! 2. [`Request::new`] says what is asked, and [`TaskDirectory::create`] keeps it beside a copy of the evidence.
//!    Until then nothing is written.
//! 3. Each specialist gets its own [`ScopedFacts`], after its [`roles::prerequisites`], and answers with a
//!    [`Finding`]; [`roles::engineering`] and [`roles::operations`] answer without a model.
//! 4. [`gates::check_finding`] refuses what the facts do not give; [`ResultStore::save`] keeps the rest.
//! 5. [`synthesize`] puts the results together, and [`gates::check_synthesis`] checks that too.
//! 6. [`publish`] takes an [`Outcome`], checks every file again and writes the report, once.
//!
//! It needs a Unix system, whose file handles keep a link from being slipped in between a check and a read.

#[cfg(not(unix))]
compile_error!(
    "release-review opens files relative to folders and without following links, as Unix systems can"
);

pub mod canonical;
mod digest;
mod error;
mod evidence;
mod exit;
mod fact;
mod finding;
mod folder;
pub mod gates;
mod leftovers;
mod mode;
mod name;
mod outcome;
mod progress;
mod publication;
mod report;
mod request;
mod result;
mod results;
mod review;
pub mod roles;
mod synthesis;
mod task;
mod team;
mod text;
mod verdict;

pub use crate::{
    digest::{Digest, ParseDigestError},
    error::Error,
    evidence::{Evidence, EvidenceError, EvidenceErrorKind, Settings, SourceEntry, Thresholds, Warning},
    exit::Exit,
    fact::{Fact, Facts, ScopedFacts, SourceLine},
    finding::{Citation, Finding},
    mode::Mode,
    name::{Name, NameError},
    outcome::{AttemptError, Entry, EntryStatus, Outcome, Stop, StopReason, SynthesisEntry},
    progress::Progress,
    publication::{PublishError, Published, publish},
    report::{Report, ReportStatus, escape},
    request::{Request, RequestError, RequestOptions},
    result::{ResultId, ResultRecord, VerifiedResult},
    results::{ResultError, ResultStore},
    review::{Options, Review},
    synthesis::{Section, Synthesis, readiness, synthesize},
    task::{TaskDirectory, TaskError},
    text::{TextError, is_hidden, visible},
    verdict::{Readiness, Verdict},
};
