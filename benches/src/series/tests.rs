use super::lines;
use crate::{
    benchmark::Case,
    benchmarks::cases,
    figures::Spread,
    probe::{Count, Counts, Times},
};

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name() == name).unwrap()
}

fn counts(allocations: f64, peak_bytes: f64) -> Counts {
    let floor = Count { allocations: 10.0, peak_bytes: 10.0, syncs: None, written_bytes: None };
    Counts { floor, work: Count { allocations, peak_bytes, syncs: None, written_bytes: None } }
}

#[test]
fn a_ratio_is_the_median_of_the_pairs_and_not_the_ratio_of_the_medians() {
    let times = [Times { runs: vec![(1.0, 4.0), (2.0, 4.0), (4.0, 4.0)] }];
    let lines = lines(&case("dispatch"), 2, &[1_000], Some(&times), None);
    let ratio = lines[0].ratio.unwrap();
    assert_eq!((ratio.min, ratio.median, ratio.max), (1.0, 2.0, 4.0));
    assert_eq!(lines[0].micros, Spread::of([4_000.0; 3]));
    assert_eq!((lines[0].exponent, lines[0].allocations), (None, None));
}

#[test]
fn the_time_of_units_has_an_exponent() {
    let times = [Times { runs: vec![(1.0, 1.0)] }, Times { runs: vec![(10.0, 100.0)] }];
    let lines = lines(&case("fanout"), 0, &[10, 100], Some(&times), None);
    assert_eq!((lines[0].exponent, lines[0].floor_exponent), (None, None));
    assert_eq!((lines[1].floor_exponent, lines[1].exponent), (Some(1.0), Some(2.0)));
    assert_eq!(lines[1].growth, None);
}

#[test]
fn the_time_of_a_unit_among_agents_grows_beside_its_floor_from_the_smallest_on() {
    let times = [
        Times { runs: vec![(1.0, 2.0)] },
        Times { runs: vec![(2.0, 4.0)] },
        Times { runs: vec![(2.0, 12.0)] },
    ];
    let lines = lines(&case("acquire/1 skill"), 0, &[100, 1_000, 10_000], Some(&times), None);
    let growth: Vec<_> = lines.iter().map(|line| line.growth).collect();
    assert_eq!(growth, [None, Some(1.0), Some(3.0)]);
    assert_eq!(lines[2].exponent, None);
    assert_eq!(lines[2].units, 20_000);
}

#[test]
fn counts_have_exponents_where_there_is_something_to_count_and_the_size_is_that_of_units() {
    let counts = [counts(100.0, 0.0), counts(1_000.0, 1_000.0), counts(100_000.0, 10_000.0)];
    let lines = lines(&case("dispatch"), 0, &[10, 100, 1_000], None, Some(&counts));
    let allocations: Vec<_> = lines.iter().map(|line| line.allocations).collect();
    assert_eq!(allocations, [Some(10.0), Some(10.0), Some(100.0)]);
    let exponents: Vec<_> = lines.iter().map(|line| (line.allocation_exponent, line.peak_exponent)).collect();
    assert_eq!(exponents, [(None, None), (Some(1.0), None), (Some(2.0), Some(1.0))]);
    assert_eq!(lines[2].floor_peak_bytes, Some(10.0));

    let lines = super::lines(&case("acquire/1 skill"), 0, &[10, 100, 1_000], None, Some(&counts));
    assert_eq!((lines[2].allocation_exponent, lines[2].peak_exponent), (None, None));
}

#[test]
fn syncs_and_bytes_in_files_are_those_of_a_unit_and_bytes_have_an_exponent() {
    let written = |syncs, bytes| {
        let counts = counts(1.0, 1.0);
        Counts { work: Count { syncs: Some(syncs), written_bytes: Some(bytes), ..counts.work }, ..counts }
    };
    let counts = [written(10.0, 100.0), written(100.0, 10_000.0)];
    let lines = lines(&case("dispatch"), 0, &[10, 100], None, Some(&counts));
    let found: Vec<_> =
        lines.iter().map(|line| (line.syncs, line.written_bytes, line.written_exponent)).collect();
    assert_eq!(found, [(Some(1.0), Some(10.0), None), (Some(1.0), Some(100.0), Some(2.0))]);
    assert_eq!((lines[0].floor_syncs, lines[0].floor_written_bytes), (None, None));
}
