//! What the runtime may cost: the one table that `bench --check` holds the figures against.

use crate::{figures::float, series::Line};

/// A figure of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Ratio,
    Exponent,
    Growth,
    Allocations,
    AllocationExponent,
    PeakExponent,
    PeakBytes,
    Syncs,
    WrittenExponent,
}

impl Figure {
    pub(crate) fn of(self, line: &Line) -> Option<f64> {
        match self {
            Self::Ratio => line.ratio.map(|ratio| ratio.median),
            Self::Exponent => line.exponent,
            Self::Growth => line.growth,
            Self::Allocations => line.allocations,
            Self::AllocationExponent => line.allocation_exponent,
            Self::PeakExponent => line.peak_exponent,
            Self::Syncs => line.syncs,
            Self::WrittenExponent => line.written_exponent,
            Self::PeakBytes => Some(line.peak_bytes? / float(line.units)),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio to the floor",
            Self::Exponent => "exponent of the time",
            Self::Growth => "growth by that of the floor",
            Self::Allocations => "allocations per unit",
            Self::AllocationExponent => "exponent of the allocations",
            Self::PeakExponent => "exponent of the peak memory",
            Self::Syncs => "syncs per unit",
            Self::WrittenExponent => "exponent of the written bytes",
            Self::PeakBytes => "bytes a unit at the peak",
        }
    }

    /// By how much of a target a figure may be above it before `--check` fails: the floor itself moves by a third
    /// within minutes on a machine that others share, and the median of the pairs by much less. Counts do not move.
    pub(crate) fn margin(self) -> f64 {
        match self {
            Self::Ratio | Self::Growth => 0.10,
            Self::Exponent => 0.05,
            Self::Allocations
            | Self::AllocationExponent
            | Self::PeakExponent
            | Self::PeakBytes
            | Self::Syncs
            | Self::WrittenExponent => 0.0,
        }
    }
}

/// What a figure of a benchmark may be at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) benchmark: &'static str,
    /// `None` means every one of the benchmark.
    pub(crate) variant: Option<&'static str>,
    pub(crate) figure: Figure,
    pub(crate) at_most: f64,
}

const fn of_variant(benchmark: &'static str, variant: &'static str, figure: Figure, at_most: f64) -> Target {
    Target { benchmark, variant: Some(variant), figure, at_most }
}

const fn target(benchmark: &'static str, figure: Figure, at_most: f64) -> Target {
    Target { benchmark, variant: None, figure, at_most }
}

/// Proportional, with room for what is paid once and for the levels that a tree gains.
const LINEAR: f64 = 1.05;

/// Every target. They hold on the current thread and on two workers, at each size.
pub(crate) const TARGETS: [Target; 41] = [
    // Users wait for models. A task, a channel and a commit come to a few times one bare task; more is waste.
    target("dispatch", Figure::Ratio, 5.0),
    // Two ids, a session with its record, a report, a task, a channel and a scope are some twenty; twice that is enough.
    target("dispatch", Figure::Allocations, 40.0),
    target("dispatch", Figure::AllocationExponent, LINEAR),
    // The floor has one task for each unit as well; a batch may not cost more than its tasks one by one.
    target("fanout", Figure::Ratio, 5.0),
    target("fanout", Figure::Exponent, LINEAR),
    target("fanout", Figure::AllocationExponent, LINEAR),
    // Memory follows the reports, which all are kept, and not the square of what waits.
    target("fanout", Figure::PeakExponent, LINEAR),
    // Work that takes any time at all must hide what the runtime does.
    target("sleepers", Figure::Ratio, 1.05),
    // A task and its slot, lent and given back; a deadlock would not end at all.
    target("nested", Figure::Ratio, 6.0),
    // Every level the same, whatever is above it.
    target("nested", Figure::AllocationExponent, LINEAR),
    // Beside what the floor does there are a lock, a slot, a guard, and the order of those who wait.
    target("acquire", Figure::Ratio, 3.0),
    // The maps become deeper and leave the caches; nothing may look at every agent.
    target("acquire", Figure::Growth, 1.5),
    // At any number of agents: a lease and its end change eleven maps at most, and each change may split a node or join
    // two. Nothing else is made for each lease.
    target("acquire", Figure::Allocations, 25.0),
    // A commit changes what surrounds the messages too: revision, bytes, the copy that a reader keeps.
    target("session", Figure::Ratio, 3.0),
    target("session", Figure::Exponent, LINEAR),
    target("session", Figure::AllocationExponent, LINEAR),
    target("session", Figure::PeakExponent, LINEAR),
    // Its floor is `fanout`: what is added for each participant is a ballot, a line in the summary and a shared session, and
    // what is added once, the task that the consensus is, has to fit in as well where five take part.
    target("consensus", Figure::Ratio, 1.5),
    target("consensus", Figure::Exponent, LINEAR),
    target("consensus", Figure::AllocationExponent, LINEAR),
    // Whoever cares about the cost puts a thread in between. What a sink does itself is reported and has no target.
    of_variant("events", "async", Figure::Ratio, 1.3),
    // Two more heaps that a step may come into, and twice the question who is next to move on; the floor knows no time.
    target("priority", Figure::Ratio, 3.0),
    // The logarithm of the heaps, and what no longer fits into a cache.
    target("priority", Figure::Exponent, 1.1),
    // All that is kept grows by doubling.
    target("priority", Figure::AllocationExponent, LINEAR),
    // The floor has a task for each step as well. On top are a row, an input, a context, a token, and a record of each start
    // and each end, which observers are told of.
    of_variant("plan", "chain spawned", Figure::Ratio, 2.0),
    of_variant("plan", "wide spawned", Figure::Ratio, 2.0),
    of_variant("plan", "layered spawned", Figure::Ratio, 2.0),
    // Without a task the floor is so low that the same shows more.
    of_variant("plan", "chain inline", Figure::Ratio, 3.0),
    of_variant("plan", "wide inline", Figure::Ratio, 3.0),
    of_variant("plan", "layered inline", Figure::Ratio, 3.0),
    target("plan", Figure::Exponent, LINEAR),
    target("plan", Figure::AllocationExponent, LINEAR),
    // What a run comes to, a row and a place in the queue. Plans of a million steps fit into one gigabyte.
    target("plan", Figure::PeakBytes, 1_024.0),
    // The end of a step and the start of the next share a commit. One in twenty more: opening, the plan, the end.
    of_variant("journal", "strict chain", Figure::Syncs, 1.05),
    // 64 that begin together end together, and the journal waits for the last of them.
    of_variant("journal", "strict wide", Figure::Syncs, 1.3 / 64.0),
    of_variant("journal", "relaxed wide", Figure::Ratio, 2.0),
    // A record says what happened to its step, whatever plan that is in.
    of_variant("journal", "strict chain", Figure::WrittenExponent, LINEAR),
    of_variant("journal", "strict wide", Figure::WrittenExponent, LINEAR),
    of_variant("journal", "relaxed wide", Figure::WrittenExponent, LINEAR),
    // On top of what is decoded there is a ledger that takes each record, and the hundredth part that runs.
    target("resume", Figure::Ratio, 3.0),
    target("resume", Figure::AllocationExponent, LINEAR),
];
