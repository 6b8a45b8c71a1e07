//! The figures for people, a line of a table for each size.

use crate::{figures::Spread, series::Line};

/// Above the lines of [`row`].
pub(crate) fn header() -> String {
    format!(
        "{:<24} {:<14} {:>9}  {:>9} {:>24}  {:>20}  {:>8}  {:>7}  {:>17}  {:>19}  {:>15}  {:>13}",
        "benchmark",
        "runtime",
        "n",
        "floor µs",
        "µs",
        "ratio",
        "exponent",
        "growth",
        "allocations",
        "peak KiB",
        "syncs",
        "written bytes"
    )
}

/// One size: per unit the floor's time, the time with its spread, their ratio, then how both grow, then the allocations,
/// the peak memory, and what was synced and written, the floor's in brackets. A dash stands for what was not measured.
pub(crate) fn row(line: &Line) -> String {
    let micros = |spread: &Spread| format!("{:.2}", spread.median);
    format!(
        "{:<24} {:<14} {:>9}  {:>9} {:>24}  {:>20}  {:>8}  {:>7}  {:>17}  {:>19}  {:>15}  {:>13}",
        line.name(),
        line.place(),
        line.n,
        or_dash(line.floor_micros.as_ref().map(micros)),
        or_dash(line.micros.as_ref().map(with_ends)),
        or_dash(line.ratio.as_ref().map(with_ends)),
        or_dash(line.exponent.map(|exponent| format!("{exponent:.3}"))),
        or_dash(line.growth.map(|growth| format!("{growth:.2}"))),
        or_dash(beside(line.allocations, line.floor_allocations, 1.0, 2)),
        or_dash(beside(line.peak_bytes, line.floor_peak_bytes, 1024.0, 0)),
        or_dash(beside(line.syncs, line.floor_syncs, 1.0, 4)),
        or_dash(beside(line.written_bytes, line.floor_written_bytes, 1.0, 0)),
    )
}

fn with_ends(spread: &Spread) -> String {
    format!("{:.2} ({:.2}–{:.2})", spread.median, spread.min, spread.max)
}

fn beside(work: Option<f64>, floor: Option<f64>, unit: f64, digits: usize) -> Option<String> {
    Some(format!("{:.digits$} ({:.digits$})", work? / unit, floor? / unit))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}
