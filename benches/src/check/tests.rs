use super::{checked, missed};
use crate::{figures::Spread, series::Line};

fn line(benchmark: &'static str, variant: &'static str) -> Line {
    Line { benchmark, variant, n: 10_000, ..Line::default() }
}

fn with_ratio(median: f64, benchmark: &'static str, variant: &'static str) -> Line {
    Line { ratio: Some(Spread { median, min: median, max: median }), ..line(benchmark, variant) }
}

#[track_caller]
fn check(line: Line, expected: &[&str]) {
    let lines = [line];
    let found: Vec<_> = missed(&lines).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_figure_above_its_target_and_margin_is_missed() {
    check(with_ratio(5.49, "dispatch", ""), &[]);
    let missed = "dispatch at 10000 (current thread): ratio to the floor is 5.51, at most 5 is allowed, and 10 % for the noise";
    check(with_ratio(5.51, "dispatch", ""), &[missed]);
    let missed = missed.replace("dispatch", "dispatch/tracing off").replace("current thread", "2 workers");
    check(Line { workers: 2, ..with_ratio(5.51, "dispatch", "tracing off") }, &[&missed]);
}

#[test]
fn a_count_has_no_margin() {
    check(Line { allocations: Some(40.0), ..line("dispatch", "") }, &[]);
    let missed = "dispatch at 10000 (current thread): allocations per unit is 40.01, at most 40 is allowed";
    check(Line { allocations: Some(40.01), ..line("dispatch", "") }, &[missed]);
}

#[test]
fn peak_memory_is_that_of_a_unit() {
    let peak = |peak_bytes| Line { units: 10, peak_bytes: Some(peak_bytes), ..line("plan", "wide inline") };
    check(peak(10_240.0), &[]);
    let missed = "plan/wide inline at 10000 (current thread): bytes a unit at the peak is 1024.10, at most 1024 is allowed";
    check(peak(10_241.0), &[missed]);
}

#[test]
fn what_is_no_number_is_missed() {
    let missed = "session at 10000 (current thread): exponent of the time is NaN, at most 1.05 is allowed, and 5 % for the noise";
    check(Line { exponent: Some(f64::NAN), ..line("session", "") }, &[missed]);
}

#[test]
fn a_target_of_one_variant_binds_no_other() {
    check(with_ratio(9.0, "events", "memory"), &[]);
    let missed = "events/async at 10000 (current thread): ratio to the floor is 9.00, at most 1.3 is allowed, and 10 % for the noise";
    check(with_ratio(9.0, "events", "async"), &[missed]);
}

#[test]
fn only_figures_that_were_measured_are_checked() {
    let lines = [line("dispatch", ""), Line { allocations: Some(1.0), ..with_ratio(1.0, "dispatch", "") }];
    assert_eq!(checked(&lines), 2);
}
