//! `events`: `dispatch` with somebody who listens.
//!
//! Work: `dispatch` with a sink. Floor: `dispatch` without one.

use std::io;

use anyhow::Context as _;
use tracing_subscriber::layer::SubscriberExt as _;

use convoke::observability::{
    BoundedAsyncSink, Event, EventSink, JsonLinesSink, MemorySink, SinkError, TracingSink,
};

use super::dispatch::{WORK, dispatching};
use crate::{
    benchmark::{Case, Prepared, Preparing, Side, Size},
    clock::Clock,
};

const MEMORY: Case = Case {
    benchmark: "events",
    variant: "memory",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: &[10_000],
    small: &[],
    floor: WORK,
    work: Side::new(|units| dispatching(units, |team| Ok(team.event_sink(MemorySink::new())))),
};

pub(super) const CASES: [Case; 4] = [
    MEMORY,
    Case { variant: "json lines", work: Side::new(to_file), ..MEMORY },
    Case {
        variant: "tracing",
        work: Side::new(|units| dispatching(units, |team| Ok(team.event_sink(TracingSink::new()))))
            .under(formatting),
        ..MEMORY
    },
    Case { variant: "async", work: Side::new(behind_a_thread), ..MEMORY },
];

/// A file in a folder of its own, which goes with what is left over.
fn to_file(units: usize) -> Preparing {
    Box::pin(async move {
        let folder = tempfile::tempdir().context("no folder for the events")?;
        let sink = JsonLinesSink::open(folder.path().join("events.jsonl"))?;
        let work = dispatching(units, |team| Ok(team.event_sink(sink))).await?;
        Ok::<Prepared, _>(Box::pin(async move { Ok(Box::new((work.await?, folder)) as _) }))
    })
}

/// Writes what it hears, as a log does, to nowhere.
fn formatting() -> tracing::Dispatch {
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(io::sink);
    tracing_subscriber::registry().with(layer).into()
}

/// The sink behind takes no time, so that what is measured is the way to it.
fn behind_a_thread(units: usize) -> Preparing {
    dispatching(units, |team| Ok(team.event_sink(BoundedAsyncSink::builder(Nowhere).start()?)))
}

struct Nowhere;

impl EventSink for Nowhere {
    fn publish(&self, _event: Event) -> Result<(), SinkError> {
        Ok(())
    }
}
