//! What a benchmark is: pieces of work, each with its floor and its sizes.

use std::{any::Any, pin::Pin};

use anyhow::Result;

use crate::clock::Clock;

/// What a piece of work leaves behind. It is dropped after the clock has stopped.
pub(crate) type Leftover = Box<dyn Any + Send>;

/// Work that is ready to begin.
pub(crate) type Prepared = Pin<Box<dyn Future<Output = Result<Leftover>> + Send>>;

/// Makes everything ready, which is not measured.
pub(crate) type Preparing = Pin<Box<dyn Future<Output = Result<Prepared>> + Send>>;

/// One of the two sides that are compared.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    /// Makes the work of a size ready.
    pub(crate) prepare: fn(usize) -> Preparing,
    /// The `tracing` subscriber under which it runs, if any.
    pub(crate) subscriber: Option<fn() -> tracing::Dispatch>,
    /// Whether it writes files, whose syncs are to be counted.
    pub(crate) writes_files: bool,
}

impl Side {
    pub(crate) const fn new(prepare: fn(usize) -> Preparing) -> Self {
        Self { prepare, subscriber: None, writes_files: false }
    }

    pub(crate) const fn under(self, subscriber: fn() -> tracing::Dispatch) -> Self {
        Self { subscriber: Some(subscriber), ..self }
    }

    pub(crate) const fn writing_files(self) -> Self {
        Self { writes_files: true, ..self }
    }
}

/// What the size of a case means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// So many units are done.
    Units,
    /// So many agents are there, and always as many units are done.
    Agents {
        /// How many units are done.
        units: usize,
    },
}

impl Size {
    pub(crate) fn units(self, size: usize) -> usize {
        match self {
            Self::Units => size,
            Self::Agents { units } => units,
        }
    }
}

/// A piece of work beside its floor.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) benchmark: &'static str,
    /// What tells it from the other cases of the benchmark; empty where there is one.
    pub(crate) variant: &'static str,
    pub(crate) size: Size,
    /// What times it on the current thread; workers wait for each other, which only the wall clock sees.
    pub(crate) clock: Clock,
    /// The sizes that are measured, ascending.
    pub(crate) sizes: &'static [usize],
    /// The sizes at which counts are checked in seconds.
    pub(crate) small: &'static [usize],
    pub(crate) floor: Side,
    pub(crate) work: Side,
}

impl Case {
    /// Benchmark and variant in one word, for commands and tables.
    pub(crate) fn name(&self) -> String {
        name(self.benchmark, self.variant)
    }
}

/// Benchmark and variant in one word; the benchmark alone where it has no variants.
pub(crate) fn name(benchmark: &str, variant: &str) -> String {
    if variant.is_empty() { benchmark.to_owned() } else { format!("{benchmark}/{variant}") }
}
