//! What was measured of one case in one place, size by size, and what follows from it.

use serde::Serialize;

use crate::{
    benchmark::{Case, Size, name},
    figures::{Spread, exponent, float},
    probe::{Counts, Times},
};

/// One size of one case in one place: a line of the table, and one of JSON. Times and counts are per unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) benchmark: &'static str,
    pub(crate) variant: &'static str,
    /// None means the current thread.
    pub(crate) workers: usize,
    pub(crate) n: usize,
    pub(crate) units: usize,
    pub(crate) floor_micros: Option<Spread>,
    pub(crate) micros: Option<Spread>,
    /// Of the pairs: what the work took by what the floor took right before.
    pub(crate) ratio: Option<Spread>,
    /// How the time of all units grows with their number, from the size before.
    pub(crate) exponent: Option<f64>,
    pub(crate) floor_exponent: Option<f64>,
    /// Where the size is not the number of units: how the time of a unit grows from the smallest size on, by how that
    /// of the floor grows.
    pub(crate) growth: Option<f64>,
    pub(crate) allocations: Option<f64>,
    pub(crate) floor_allocations: Option<f64>,
    /// As the exponent of the time.
    pub(crate) allocation_exponent: Option<f64>,
    /// Of the whole work, not of a unit.
    pub(crate) peak_bytes: Option<f64>,
    pub(crate) floor_peak_bytes: Option<f64>,
    pub(crate) peak_exponent: Option<f64>,
    /// Calls that wait until something is durable, where there are files.
    pub(crate) syncs: Option<f64>,
    pub(crate) floor_syncs: Option<f64>,
    /// Written into files.
    pub(crate) written_bytes: Option<f64>,
    pub(crate) floor_written_bytes: Option<f64>,
    pub(crate) written_exponent: Option<f64>,
}

impl Line {
    /// Benchmark and variant in one word.
    pub(crate) fn name(&self) -> String {
        name(self.benchmark, self.variant)
    }

    /// The runtime in words.
    pub(crate) fn place(&self) -> String {
        if self.workers == 0 { "current thread".to_owned() } else { format!("{} workers", self.workers) }
    }
}

/// The lines of one case in one place, a line for each size.
pub(crate) fn lines(
    case: &Case,
    workers: usize,
    sizes: &[usize],
    times: Option<&[Times]>,
    counts: Option<&[Counts]>,
) -> Vec<Line> {
    let new = |&n: &usize| Line {
        benchmark: case.benchmark,
        variant: case.variant,
        workers,
        n,
        units: case.size.units(n),
        ..Line::default()
    };
    let mut lines: Vec<Line> = sizes.iter().map(new).collect();
    if let Some(times) = times {
        add_times(&mut lines, case.size, times);
    }
    if let Some(counts) = counts {
        add_counts(&mut lines, case.size, counts);
    }
    lines
}

fn add_times(lines: &mut [Line], size: Size, times: &[Times]) {
    let mut before: Option<(usize, &Times)> = None;
    let first = times.first();
    for (line, times) in lines.iter_mut().zip(times) {
        let micros = |seconds: f64| seconds * 1e6 / float(line.units);
        line.floor_micros = Spread::of(times.runs.iter().map(|run| micros(run.0)));
        line.micros = Spread::of(times.runs.iter().map(|run| micros(run.1)));
        line.ratio = Spread::of(times.runs.iter().map(|run| run.1 / run.0));
        match (size, before, first) {
            (Size::Units, Some((smaller, earlier)), _) => {
                // Run by run: the two sizes of one run saw the same machine.
                let runs = || earlier.runs.iter().zip(&times.runs);
                let sizes = (smaller, line.n);
                let floor = runs().map(|(one, other)| exponent(sizes, (one.0, other.0)));
                let work = runs().map(|(one, other)| exponent(sizes, (one.1, other.1)));
                line.floor_exponent = Spread::of(floor).map(|spread| spread.median);
                line.exponent = Spread::of(work).map(|spread| spread.median);
            }
            (Size::Agents { .. }, Some(_), Some(first)) => {
                let runs = first.runs.iter().zip(&times.runs);
                let growth = runs.map(|(one, other)| (other.1 / one.1) / (other.0 / one.0));
                line.growth = Spread::of(growth).map(|spread| spread.median);
            }
            _ => {}
        }
        before = Some((line.n, times));
    }
}

fn add_counts(lines: &mut [Line], size: Size, counts: &[Counts]) {
    let mut before: Option<(usize, Counts)> = None;
    for (line, &counts) in lines.iter_mut().zip(counts) {
        let units = float(line.units);
        let per_unit = |count: f64| count / units;
        line.floor_allocations = Some(per_unit(counts.floor.allocations));
        line.allocations = Some(per_unit(counts.work.allocations));
        line.floor_peak_bytes = Some(counts.floor.peak_bytes);
        line.peak_bytes = Some(counts.work.peak_bytes);
        line.syncs = counts.work.syncs.map(per_unit);
        line.floor_syncs = counts.floor.syncs.map(per_unit);
        line.written_bytes = counts.work.written_bytes.map(per_unit);
        line.floor_written_bytes = counts.floor.written_bytes.map(per_unit);
        if let (Size::Units, Some((smaller, earlier))) = (size, before) {
            let grows = |amounts: (f64, f64)| {
                let is_some = amounts.0 > 0.0 && amounts.1 > 0.0;
                is_some.then(|| exponent((smaller, line.n), amounts))
            };
            line.allocation_exponent = grows((earlier.work.allocations, counts.work.allocations));
            line.peak_exponent = grows((earlier.work.peak_bytes, counts.work.peak_bytes));
            line.written_exponent = earlier.work.written_bytes.zip(counts.work.written_bytes).and_then(grows);
        }
        before = Some((line.n, counts));
    }
}

#[cfg(test)]
mod tests;
