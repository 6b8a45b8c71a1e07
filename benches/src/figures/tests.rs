use super::{Spread, exponent};

#[test]
fn the_median_is_the_middle_or_between_the_two_middle_ones() {
    #[track_caller]
    fn check(numbers: &[f64], expected: Option<(f64, f64, f64)>) {
        let spread = Spread::of(numbers.iter().copied());
        assert_eq!(spread.map(|spread| (spread.min, spread.median, spread.max)), expected);
    }
    check(&[], None);
    check(&[2.0], Some((2.0, 2.0, 2.0)));
    check(&[4.0, 1.0], Some((1.0, 2.5, 4.0)));
    check(&[9.0, 1.0, 2.0], Some((1.0, 2.0, 9.0)));
}

#[test]
fn an_exponent_says_how_an_amount_grows() {
    #[track_caller]
    fn check(amounts: (f64, f64), expected: f64) {
        let found = exponent((1_000, 10_000), amounts);
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
    check((5.0, 5.0), 0.0);
    check((5.0, 50.0), 1.0);
    check((5.0, 500.0), 2.0);
}
